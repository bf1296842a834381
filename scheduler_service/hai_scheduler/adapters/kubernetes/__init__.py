"""Ranks are pods of a Kubernetes cluster (docs/architecture.md, "Ports").

Only `client`, and what imports it, needs the `kubernetes` package. This module does not, so that a machine without the
package can use the other modules.
"""
