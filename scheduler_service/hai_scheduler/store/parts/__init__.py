"""The parts of a transaction on a database, a module for each of `hai_scheduler.ports.stored`."""
