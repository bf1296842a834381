"""The platform that the command `hai` is logged in to, and where its environments are on this machine.

`hai up` and `hai login` write `$XDG_CONFIG_HOME/hai/config.json` (`~/.config/hai/config.json`): an object of texts, for
its owner alone to read. What is read here are `url`, `user` and `haienv_root`, which is the folder of all environments
where the platform runs on this machine; elsewhere there is none.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping


@dataclass(frozen=True)
class Login:
    """A platform that is known here."""

    url: str
    user: str = ""  #: The user's name there; empty: unknown.
    root: Path | None = None  #: The folder of all its environments; None: this machine does not have it.


def login_of(environ: Mapping[str, str]) -> Login | None:
    """Return the platform that `hai` speaks to: the one of HAI_URL, else the one of the file; None: there is none."""
    url = environ.get("HAI_URL", "").rstrip("/")
    kept = _kept(environ)
    if not kept.get("url") or (url and url != kept["url"]):
        return Login(url) if url else None
    root = kept.get("haienv_root", "")
    return Login(kept["url"], kept.get("user", ""), Path(root) if os.path.isabs(root) and os.path.isdir(root) else None)


def _kept(environ: Mapping[str, str]) -> dict[str, str]:
    base = environ.get("XDG_CONFIG_HOME", "")
    folder = base if os.path.isabs(base) else os.path.join(environ.get("HOME", "/"), ".config")
    try:
        with open(os.path.join(folder, "hai", "config.json"), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        # The command `hai` says what is wrong with it.
        return {}
    items = found.items() if isinstance(found, dict) else ()
    return {str(key): value for key, value in items if isinstance(value, str)}
