"""Signing in: by providers whose groups are kept in step, or by passwords of HAI; and what slows down guessing."""
