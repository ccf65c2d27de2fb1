"""Part VII: models of speed, memory and cost; bugs, and what finds them."""
