"""Stand-ins for tests: a store, a cluster and time that live in this process."""
