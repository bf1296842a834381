"""What Studio costs the service at 1,500 nodes and 10,000 tasks: `python -m bench studio`."""
