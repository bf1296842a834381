"""The HAI extension of JupyterLab: the server part forwards the browser's requests to the platform."""

from __future__ import annotations

from typing import Any

from hai_lab.platform import Platform
from hai_lab.routes import routes

__version__ = "0.1.0"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Tell JupyterLab where the built front end is."""
    return [{"src": "labextension", "dest": "hai-lab"}]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Tell Jupyter Server what to load."""
    return [{"module": "hai_lab"}]


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Add the routes to a running Jupyter Server.

    Args:
        serverapp: The `jupyter_server.serverapp.ServerApp`.
    """
    web_app = serverapp.web_app
    web_app.settings["hai_lab_platform"] = Platform.from_environment()
    web_app.add_handlers(".*$", routes(web_app.settings["base_url"]))
