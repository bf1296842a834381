"""Policy numbers: which there are, which are in force, and how admins change them."""
