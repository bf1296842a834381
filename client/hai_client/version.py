"""The version of this package, and how it is told: a module of its own, as every rank pays for what is loaded."""

from __future__ import annotations

__version__ = "0.1.0"
#: Header of each answer of the service, and of each request of the client and of supervisors: the sender's version.
VERSION_HEADER = "HAI-Version"
