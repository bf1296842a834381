"""The scheduler service of HAI: a core that decides, a shell that acts, ports between them."""

__version__ = "0.1.0"
