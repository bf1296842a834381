"""What must pass before a change lands, with the standard library alone: it runs before anything is installed."""
