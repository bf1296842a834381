"""The logs of tasks: stored, read as one log over all runs, followed, searched, and scanned for errors."""
