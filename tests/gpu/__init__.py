"""The platform on a real GPU: `make gpu`, or `python3 -m gpu` in tests/ (docs/gpus.md)."""
