"""What a development container may be, what is free for it, and who may have how many."""
