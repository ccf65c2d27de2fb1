"""The scripts that draw the figures, and what they draw."""
