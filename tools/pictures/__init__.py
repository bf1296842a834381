"""The pictures of docs/scheduling.md, made by the simulator: `make pictures`."""
