"""Signing in with passwords that the platform keeps, and what slows down guessing."""
