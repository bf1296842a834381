"""The manifest of a generation: what it holds, and how it was made."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from haienv.shared.errors import Damaged
from haienv.shared.files import write_atomically

SCHEMA = 1


@dataclass(frozen=True)
class Manifest:
    """A complete generation. It is written once and never changed."""

    name: str
    generation: int
    digest: str  #: The digest of its files (`haienv.shared.tree`).
    files: int  #: Number of its files, and the sum of their sizes in bytes.
    size: int
    lock: str  #: SHA-256 of its requirements.lock.
    #: Version of Python, such as 3.11.7, and the program that the environment was made with; empty: conda brought it.
    python: str
    interpreter: str
    machine: str
    glibc: str  #: The oldest version of glibc that it runs with, such as 2.28; empty: it needs none.
    cuda: str | None  #: Version of CUDA that its packages are for, such as 12.6; None: none.
    extends: str | None  #: The generation that it extends, such as base/torch@3, and its digest.
    extends_digest: str | None
    requirements: tuple[str, ...]  #: What was asked for beyond that.
    built_by: str
    built_at: str  #: RFC 3339.
    kernel: bool  #: Whether Jupyter offers it as a kernel.
    variables: dict[str, str] = field(default_factory=dict)  #: Environment variables of its shells, runs and tasks.

    def write(self, path: Path) -> None:
        """Write the manifest, whole or not at all. Raises OSError."""
        write_atomically(path, json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n", mode=0o444)


_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,), "generation": (int,), "digest": (str,), "files": (int,), "size": (int,), "lock": (str,),
    "python": (str,), "interpreter": (str,), "machine": (str,), "glibc": (str,), "cuda": (str, type(None)),
    "extends": (str, type(None)), "extends_digest": (str, type(None)), "requirements": (list,), "built_by": (str,),
    "built_at": (str,), "kernel": (bool,),
}  # fmt: skip


def read(path: Path) -> Manifest:
    """Read a manifest. Raises FileNotFoundError, Damaged."""
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise Damaged(f"{path}: cannot be read: {error}") from None
    return parsed(data, str(path))


def parsed(data: Any, path: str) -> Manifest:
    """Return the manifest for the values of a file; `path` is for messages. Raises Damaged."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise Damaged(f"{path}: is of another version than {SCHEMA}: use a newer haienv")
    wrong = [name for name, kinds in _TYPES.items() if not isinstance(data.get(name), kinds)]
    if wrong:
        raise Damaged(f"{path}: {wrong[0]} is missing or of the wrong type")
    known = {name: data[name] for name in _TYPES}
    variables = data.get("variables", {})
    if not isinstance(variables, dict) or not all(isinstance(one, str) for one in variables.values()):
        raise Damaged(f"{path}: variables are of the wrong type")
    return Manifest(
        **{**known, "requirements": tuple(str(one) for one in known["requirements"]), "variables": variables}
    )
