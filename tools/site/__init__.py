"""What makes the site, the PDF, the slides and the poster."""
