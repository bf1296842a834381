"""The HAI extension of JupyterLab: the server part forwards the browser's requests to the platform."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any

from jupyter_server._tz import utcnow

from hai_lab import activity, terminals
from hai_lab.boards import handlers as board_handlers
from hai_lab.boards.processes import Boards
from hai_lab.environments import handlers as environments
from hai_lab.environments.builds import Builds
from hai_lab.examples import Examples
from hai_lab.lifetime import Lifetime
from hai_lab.platform import PlatformClient
from hai_lab.routes import routes
from hai_lab.spot import Spot

__version__ = "0.1.0"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Tell JupyterLab where the built front end is."""
    return [{"src": "labextension", "dest": "hai-lab"}]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Tell Jupyter Server what to load."""
    return [{"module": "hai_lab"}]


def _link_jupyter_server_extension(serverapp: Any) -> None:
    """Change settings of other extensions: all are linked before the first is loaded."""
    terminals.set_up(serverapp)


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Add the routes to a running Jupyter Server.

    Args:
        serverapp: The `jupyter_server.serverapp.ServerApp`.
    """
    web_app = serverapp.web_app
    web_app.settings["hai_lab_version"] = __version__
    web_app.settings["hai_lab_platform"] = PlatformClient.from_environment()
    web_app.settings["hai_lab_lifetime"] = Lifetime.from_environment()
    web_app.settings["hai_lab_spot"] = Spot.from_environment()
    examples = Examples.of(Path(web_app.settings["server_root_dir"]).expanduser().absolute())
    web_app.settings["hai_lab_examples"] = examples
    # Under HAI alone: a JupyterLab that only happens to have this extension is not ours to fill.
    if web_app.settings["hai_lab_platform"].api_url:
        examples.give()
    builds = Builds(active=lambda: web_app.settings.update(hai_environments_last_activity=utcnow()))
    web_app.settings[environments.SETTING] = builds
    # What a build has begun is undone by itself when it is told to end.
    atexit.register(builds.close)
    boards = Boards()
    web_app.settings[board_handlers.SETTING] = boards
    atexit.register(boards.close)
    web_app.settings["hai_lab_watch"] = activity.watch(web_app.settings, activity.kept())
    web_app.add_handlers(".*$", routes(web_app.settings["base_url"]))
