"""The verbs `pack` and `fetch`: a generation as one file, and a copy of it on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from haienv.cli.parser import add_name, add_verb
from haienv.cli.session import answer, chosen, note, registry
from haienv.keeping import packing
from haienv.shared.errors import Wrong
from haienv.shared.space import quantity
from haienv.store import names


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    pack = add_verb(verbs, "pack", "write a generation as one squashfs image", _pack, writes=True)
    add_name(pack, "the environment; NAME@N chooses the generation (default: the current one)")
    fetch = add_verb(verbs, "fetch", "make a copy of a generation on this machine, for those who run it here", _fetch)
    add_name(fetch, "the environment with the generation, NAME@N")
    fetch.add_argument("--digest", metavar="SHA256", required=True, help="the digest that its files must have")
    fetch.add_argument("--to", metavar="FOLDER", type=Path, required=True, help="the folder of all copies")
    fetch.add_argument("--days", metavar="N", type=float, default=0.0, help="remove copies not asked for in N days")


def _pack(arguments: argparse.Namespace) -> int:
    ref = names.parse(arguments.name, user=arguments.user)
    env, generation = registry().generation(ref)
    made = packing.pack(env, generation, say=note)
    data = {"environment": str(env.name), "generation": generation.number, "file": str(made.file), "image": made.image}
    line = f"{env.name}@{generation.number}: {made.file} ({quantity(made.size)}, {made.image})"
    return answer(arguments, {**data, "size": made.size}, line)


def _fetch(arguments: argparse.Namespace) -> int:
    env, generation = chosen(arguments)
    if "@" not in arguments.name:
        raise Wrong(f"fetch: name the generation: {env.name}@{generation.number}")
    if arguments.days < 0:
        raise Wrong(f"days: {arguments.days:g} is less than 0")
    prefix = packing.fetch(generation, arguments.digest, arguments.to.absolute(), days=arguments.days)
    data = {"environment": str(env.name), "generation": generation.number, "prefix": str(prefix)}
    return answer(arguments, data, f"{env.name}@{generation.number} is in {prefix}")
