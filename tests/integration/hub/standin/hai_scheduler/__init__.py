"""A stand-in for the scheduler service, found before the real one by way of PYTHONPATH."""
