"""What nbgrader needs to grade the exercises: see `make release`."""
