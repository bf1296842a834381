"""The parts of a transaction (`hai_scheduler.store.transaction.Tx`), each for what belongs together."""
