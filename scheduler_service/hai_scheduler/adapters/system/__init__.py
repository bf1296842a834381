"""The clock of the machine, and the buses: within one process, over sockets, over Redis."""
