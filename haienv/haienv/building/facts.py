"""The facts of a generation that has been installed, for its manifest; and uv with the settings that hold for it."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from haienv.building.interpreters import Interpreter
from haienv.building.uv import Uv, check_cache, find
from haienv.store import config, site
from haienv.store.layout import Generation
from haienv.store.site import PYTHONS


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The Python of a generation, and who makes it when."""

    python: str
    interpreter: str
    machine: str
    built_by: str
    built_at: str


def facts_of(python: Interpreter) -> Facts:
    """Return the facts of a generation with this Python. Nothing of it is executed."""
    return Facts(
        python=python.version,
        interpreter=python.noted,
        machine=os.uname().machine,
        built_by=getpass.getuser(),
        built_at=moment(),
    )


def moment() -> str:
    """Return this moment, RFC 3339, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def uv_for(root: Path, generation: Generation, environ: Mapping[str, str], show: Callable[[str], None]) -> Uv:
    """Return uv with the settings that hold below a root, and the log of a generation. Raises Wrong, Damaged."""
    variables = config.applied(config.merged(root, environ), environ)
    check_cache(variables)
    # The owner's folder: OWNER/NAME/generations/N.
    pythons = generation.folder.parents[2] / PYTHONS
    variables = site.read(root).variables(variables, pythons)
    return Uv(program=find(environ), environ=variables, log=generation.log, show=show)
