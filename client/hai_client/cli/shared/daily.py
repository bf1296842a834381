"""One sentence a day, to those who can act: on the versions of `hai` and of a platform, and on a login that ends.

What was said is kept in a file of the user's own. There is no lock: of two commands at once, both may say it. Where the
file cannot be written, nothing is said: it would be said at each command.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from hai_client import skew
from hai_client.cli.shared.output import Output, plural
from hai_client.codec import parse_time
from hai_client.version import __version__
from hai_client.whole_files import write_whole

#: Seconds for which a sentence is not repeated.
DAY_S = 86_400
#: Days before the end of a login from which it is spoken of.
_LAST_DAYS = 5
#: A file of more bytes is not ours.
_MOST = 65_536


def tell(out: Output, url: str, service: str, *, environ: Mapping[str, str] = os.environ) -> None:
    """Say to stderr what is to be said of this platform's version, if that was not said within a day.

    Args:
        out: Where to say it.
        url: The platform.
        service: What it says its version is, as it was sent.
        environ: The environment.

    Raises:
        OSError: There is nobody to say it to.
    """
    said = skew.judge(skew.CLIENT, __version__, service).sentence
    # By the platform alone: one that says another version each time is told of once.
    if said and _is_new(url, environ):
        out.note(f"{said} (`hai version --check` says more)")


def tell_of_end(out: Output, url: str, ends: str, *, environ: Mapping[str, str] = os.environ) -> None:
    """Say to stderr that a login ends in a few days, if that was not said within a day.

    Args:
        out: Where to say it.
        url: The platform.
        ends: When the login ends, as ISO 8601.
        environ: The environment.

    Raises:
        OSError: There is nobody to say it to.
    """
    try:
        left_s = (parse_time(ends) - datetime.now().astimezone()).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return
    days = int(left_s // DAY_S)
    if 0 <= days < _LAST_DAYS and _is_new(f"login at {url}", environ):
        when = f"in {plural(days, 'day')}" if days else "today"
        out.note(f"your login ends {when}: hai login")


def _is_new(about: str, environ: Mapping[str, str]) -> bool:
    """Note that something is said about this; return whether that was not so within a day, and could be noted."""
    now = time.time()
    try:
        path = _path(environ)
        said = {name: at for name, at in _read(path).items() if now - DAY_S < at <= now}
        if about in said:
            return False
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, json.dumps({**said, about: now}))
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return False
    return True


def _path(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CACHE_HOME", "")
    folder = Path(base) if base.startswith("/") else Path(environ.get("HOME") or Path.home()) / ".cache"
    return folder / "hai" / "said.json"


def _read(path: Path) -> Mapping[str, float]:
    """Return of which platform something was said, and when; nothing for a file that is not there, or not ours."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_MOST))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    items = found.items() if isinstance(found, dict) else ()
    return {name: at for name, at in items if isinstance(at, (int, float))}
