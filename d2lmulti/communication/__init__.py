"""Part II: how devices exchange what they have computed."""
