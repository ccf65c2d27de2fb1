"""Part III: what changes in learning on many devices."""
