"""What is counted of the whole platform: waits, starts, notices, ends of runs, node seconds, latencies."""
