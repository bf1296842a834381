"""Changes the core on purpose, one mutant at a time, and says which changes no test notices (docs/mutants.md)."""
