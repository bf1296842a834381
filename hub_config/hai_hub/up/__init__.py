"""`hai up`: the whole platform on this machine, started, kept running and stopped."""
