"""What must happen before MXNet starts, and which devices work then."""
