"""Why a task waits, as a sentence, and what would let it start."""
