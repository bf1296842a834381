"""What becomes of environments: kept, removed, renamed, shared, exported and imported."""
