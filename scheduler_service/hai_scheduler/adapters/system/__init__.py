"""The clock of the machine, and the buses: within a process, over sockets, over Redis."""
