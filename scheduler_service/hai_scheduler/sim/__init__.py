"""The simulator: the core of the scheduler in virtual time (docs/simulator.md)."""
