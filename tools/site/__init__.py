"""What makes the site, the PDF, the slides, the poster, the class edition."""
