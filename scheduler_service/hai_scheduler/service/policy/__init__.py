"""Policy numbers: their table, the values in force, and how admins change them."""
