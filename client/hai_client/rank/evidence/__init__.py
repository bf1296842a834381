"""Evidence of checkpoints: which files changed, whether they are checkpoints, and whether they are complete."""
