"""Part V: training on several machines."""
