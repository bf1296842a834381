"""The clock of the machine, the keys that seal secrets, and the buses: within one process, over sockets, over Redis."""
