"""How much code the product takes: lines by folder, and what a request passes (`python -m proportion`)."""
