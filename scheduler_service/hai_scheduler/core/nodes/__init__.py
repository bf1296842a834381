"""Which nodes can stand in for one another, on which of them a gang goes, and which get no new runs."""
