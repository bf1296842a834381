"""The parts of a transaction in memory, a module for each of `hai_scheduler.ports.stored`."""
