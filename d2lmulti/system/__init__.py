"""What prepares and examines the process, and finds the data."""
