"""The verb `lock`: prints what a generation holds, for other tools and other places."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from haienv.cli.parser import add_name, add_verb
from haienv.cli.session import chosen, note
from haienv.shared.errors import Wrong
from haienv.shared.files import write_atomically
from haienv.store import manifest as manifests
from haienv.store import spec as specs
from haienv.store.layout import EnvFolder


def add_verbs(verbs: Any) -> None:
    """Add the verb."""
    lock = add_verb(verbs, "lock", "print the exact packages of an environment, with hashes", _lock)
    add_name(lock)
    lock.add_argument(
        "--format", choices=("requirements", "pylock"), default="requirements",
        help="requirements: as pip and uv read it, for every index; pylock: PEP 751 (default: requirements)",
    )  # fmt: skip
    lock.add_argument("-o", "--output", metavar="FILE", help="write the lock to this file")


def _lock(arguments: argparse.Namespace) -> int:
    env, generation = chosen(arguments)
    if arguments.format == "requirements":
        text = generation.lock.read_text(encoding="utf-8")
    else:
        if sys.version_info < (3, 11):
            raise Wrong("format: pylock needs haienv on Python 3.11; --format requirements does not")
        from haienv.building.exporting import pylock

        manifest, spec = manifests.read(generation.manifest), specs.read(generation.spec)
        text = pylock(uv_of(env), generation, manifest, spec, _site(env))
    if arguments.output:
        write_atomically(Path(arguments.output), text)
    else:
        sys.stdout.write(text)
    return 0


def uv_of(env: EnvFolder) -> Any:
    """Return uv with the settings of the site, for work that changes no environment. Raises Wrong."""
    from haienv.building.flavours import pythons_of
    from haienv.building.uv import Uv, find

    environ = _site(env).variables(os.environ, pythons_of(env))
    return Uv(program=find(os.environ), environ=environ, log=Path(os.devnull), show=note)


def _site(env: EnvFolder) -> Any:
    from haienv.building.flavours import site_of

    return site_of(env)
