"""The versions of the platform's parts: of the wheels beside this process, and of the Hub, which is asked."""

from __future__ import annotations

import json
import logging
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from tornado.httpclient import AsyncHTTPClient, HTTPClientError

from hai_client import skew
from hai_scheduler import __version__

log = logging.getLogger(__name__)

#: Wheels by the part that they are; the spawner and the Hub's configuration are parts of the platform's.
_WHEELS: Final[Mapping[str, str]] = {
    "platform": "hai-platform",
    "client": "hai-client",
    "lab": "hai-lab",
    "environments": "hai-env",
}
#: The variable with the version of the chart that has started this process.
CHART: Final = "HAI_CHART_VERSION"
#: Seconds that the Hub may take to answer.
_PATIENCE_S: Final = 2.0


async def versions(environ: Mapping[str, str] = os.environ) -> Mapping[str, str | None]:
    """Return the versions by part; None: it is not installed here, or the Hub does not answer."""
    wheels = {part: _wheel(name) for part, name in _WHEELS.items()}
    if chart := environ.get(CHART):
        wheels["chart"] = chart
    hub = await _hub(environ.get("JUPYTERHUB_API_URL", ""))
    return {"service": __version__, "python": platform.python_version(), "jupyterhub": hub, **wheels}


def warn_of_chart(environ: Mapping[str, str] = os.environ) -> None:
    """Log a warning if the chart that has started this process is of another version than its image."""
    verdict = skew.judge(skew.IMAGE, __version__, environ.get(CHART))
    if verdict.sentence:
        log.warning("%s", verdict.sentence)


def _wheel(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


async def _hub(url: str) -> str | None:
    """Return the version that the Hub tells everybody."""
    if not url:
        return None
    try:
        answer = await AsyncHTTPClient().fetch(f"{url.rstrip('/')}/", request_timeout=_PATIENCE_S)
        return str(json.loads(answer.body)["version"])
    except (HTTPClientError, OSError, ValueError, KeyError, TypeError):
        return None
