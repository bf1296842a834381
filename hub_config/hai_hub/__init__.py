"""What makes a JupyterHub a HAI hub: `install(c, settings)`, and `hai up`, which runs one on this machine."""

from __future__ import annotations

from hai_hub.config.settings import HubSettings
from hai_hub.install import install

__all__ = ["HubSettings", "install"]
