"""Snapshots of code in a folder: contents by their SHA-256, and trees of hard links to them."""
