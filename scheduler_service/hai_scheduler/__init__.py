"""The scheduler service of HAI: a core that decides, a shell that acts, ports between them."""

from hai_client.version import __version__

__all__ = ["__version__"]
