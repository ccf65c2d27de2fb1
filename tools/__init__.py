"""What stands around the book: a folder for each tool."""
