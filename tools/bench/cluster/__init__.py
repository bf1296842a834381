"""Benchmarks against a real Kubernetes API server (`make bench ARGS=kubernetes`)."""
