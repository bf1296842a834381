"""Read settings of JupyterHub from a TOML file: a table for each class, a key for each trait.

Example: `[JupyterHub]` with `authenticator_class = "oauthenticator.github.GitHubOAuthenticator"`, then
`[GitHubOAuthenticator]` with `client_id = "..."`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_CLASS: Final = re.compile(r"[A-Z][A-Za-z0-9_]*")
_TRAIT: Final = re.compile(r"[a-z][a-z0-9_]*")

Overrides = Mapping[str, Mapping[str, Any]]


def read_overrides(path: Path) -> Overrides:
    """Read a file of overrides and check the names in it.

    Raises:
        ValueError: The file cannot be read, is not TOML, or has a wrong name; the message says which, and the remedy.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path}: is not TOML: {error}") from error
    for name, table in tables.items():
        if not _CLASS.fullmatch(name) or not isinstance(table, dict):
            message = f"{path}: {name!r} is no class of JupyterHub; write tables such as [JupyterHub] or [Spawner]"
            raise ValueError(message)
        for trait in table:
            if not _TRAIT.fullmatch(trait):
                raise ValueError(f"{path}: {trait!r} in [{name}] is no setting; settings are lower case")
    return tables
