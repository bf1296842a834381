"""The parts of a transaction of the store, each for what belongs together (`hai_scheduler.ports.store.Tx`)."""
