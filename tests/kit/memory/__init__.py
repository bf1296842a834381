"""Stand-ins for the adapters: a store, a cluster, environments and time that live in this process."""
