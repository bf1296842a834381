"""Ranks are pods of a Kubernetes cluster (docs/architecture.md, "Ports").

Only `cluster`, `client`, `informer` and `startup` need the `kubernetes` package; nothing of it is imported here, so
that a machine without it can use the rest.
"""
