"""The verbs that give an environment another name or place: `rename`, `export` and `import`."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haienv.building import archives
from haienv.cli.outcome import built
from haienv.cli.parser import add_name, add_verb
from haienv.cli.session import answer, chosen, note, own, registry
from haienv.keeping import renaming
from haienv.shared.errors import HaienvError, Missing
from haienv.shared.space import quantity
from haienv.store import names
from haienv.store import spec as specs
from haienv.store.layout import EnvFolder
from haienv.store.names import EnvName


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    rename = add_verb(verbs, "rename", "give an environment another name", _rename, writes=True)
    add_name(rename)
    rename.add_argument("to", metavar="NEW", help="new name, of the same owner")
    export = add_verb(verbs, "export", "write an environment into one file", _export)
    add_name(export)
    export.add_argument(
        "file", metavar="FILE", nargs="?", help="file to write, such as vision.tar.gz (default: NAME-N.tar.gz)"
    )
    importing = add_verb(
        verbs, "import", "make an environment of a file that `export` has written", _import, writes=True
    )
    add_name(importing, "the new environment")
    importing.add_argument("file", metavar="FILE", help="the file")
    importing.add_argument("--digest", metavar="SHA256", help="digest that `export` printed; any other file is refused")


def _rename(arguments: argparse.Namespace) -> int:
    env = own(arguments)
    wanted = names.parse(arguments.to)
    to = EnvFolder(env.root, EnvName(wanted.owner or env.name.owner, wanted.name))
    if not env.folder.is_dir():
        raise Missing(f"environment: there is no {env.name}; `haienv list` shows what there is")
    renaming.rename(env, to, extended_by=_extending(env), say=note)
    return answer(arguments, {"environment": str(to.name), "before": str(env.name)}, f"{env.name} is {to.name} now")


def _extending(env: EnvFolder) -> list[EnvName]:
    """Return the environments, of those that can be read, that extend this one."""
    known = registry()
    found = []
    for name in known.names():
        try:
            extends = specs.read(known.folder(name).spec).extends
            base = known.find(names.parse(extends)).name if extends else None
        except (HaienvError, OSError):
            continue
        if base == env.name:
            found.append(name)
    return found


def _export(arguments: argparse.Namespace) -> int:
    env, generation = chosen(arguments)
    to = Path(arguments.file or f"{env.name.name}-{generation.number}.tar.gz")
    made = archives.export(generation, to)
    return answer(
        arguments,
        {"environment": str(env.name), "generation": generation.number, **asdict(made)},
        f"{made.file}: {made.files} files, {quantity(made.size)}",
        f"  haienv import NAME {made.file} --digest {made.contents}",
    )


def _import(arguments: argparse.Namespace) -> int:
    env = own(arguments)
    file = Path(arguments.file)
    if not file.is_file():
        raise Missing(f"file: there is no {arguments.file!r}")
    made = archives.Importer(environ=os.environ, show=note).make(env, file, digest=arguments.digest)
    return built(arguments, env, made, None)
