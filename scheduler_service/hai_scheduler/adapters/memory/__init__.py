"""Everything in this process: for tests and the simulator; the bus and the clock also for production."""
