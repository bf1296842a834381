"""Ranks are pods of a Kubernetes cluster (docs/architecture.md, "Ports").

Only `cluster`, `client`, `informer` and `startup` need the `kubernetes` package. This module does not import it, so
a machine without the package can use the other modules.
"""
