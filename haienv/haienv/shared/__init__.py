"""What all rooms need: errors, files written whole, locks, trees of files."""
