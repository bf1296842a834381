"""What the parts of a HAI hub have in common: its files, its ports, its messages, its errors."""
