"""What uses a generation: it must not be removed.

Processes of this machine are found by themselves. What lives elsewhere, or will live again, writes a reference: a small
file, made by rename, that names one generation. There are three places for them, and each can be written by one side
only:

    ROOT/references/service/ID.json        the scheduler service: tasks, for as long as they live
    ROOT/references/users/bob/ID.json      bob: kernels, and what bob keeps of others
    ENV/references/ID.json                 the owner of the environment: what they keep

A file is `{"schema": 1, "environment": "users/ann/vision", "generation": 7, "kind": "task", "what": "task digits (42)",
"since": "2026-01-31T09:00:00Z", "until": null}`; `kind` is `task`, `kernel` or `keep`, and after `until` it does not
count any more. Whom it is from says the folder, never the file.

A writer writes the reference first, and looks for the manifest afterwards; a removal hides the
manifest first, and looks for references afterwards (`haienv.keeping.removal`). So at least one of the two notices.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator

from haienv.shared.errors import Damaged, Missing, Wrong
from haienv.shared.files import write_atomically
from haienv.shared.masking import quoted
from haienv.store.layout import EnvFolder, Generation
from haienv.store.names import NAME

SCHEMA = 1
FOLDER, SERVICE = "references", "service"
KINDS = ("task", "kernel", "keep")
_SUFFIX = ".json"


@dataclass(frozen=True)
class Use:
    """A reference to one generation."""

    environment: str  #: The full name: `users/ann/vision`.
    generation: int
    kind: str  #: `task`, `kernel` or `keep`.
    what: str  #: In words, for people: `task digits (42)`.
    since: str  #: RFC 3339, in UTC.
    until: str | None = None  #: After this time it does not count; None: until it is released.
    writer: str = ""  #: Who has written it: a user, or `service`. The folder says it.

    def __str__(self) -> str:
        return f"{self.what} of {self.writer}" if self.writer not in ("", SERVICE) else self.what


def folder_for(root: Path, user: str | None) -> Path:
    """Return the folder of a user's references, or of the service's (None). `haienv init` makes it."""
    return root / FOLDER / SERVICE if user is None else root / FOLDER / "users" / user


def use(generation: Generation, name: object, kind: str, what: str, *, until: str | None = None) -> Use:
    """Return a reference that begins now. Raises Wrong."""
    if kind not in KINDS:
        raise Wrong(f"kind: {kind!r} is not one of {', '.join(KINDS)}")
    return Use(str(name), generation.number, kind, what, now(), until)


def hold(folder: Path, ident: str, one: Use, generation: Generation) -> Path:
    """Write a reference, and return its file; a further one of the same id replaces it.

    Args:
        folder: One of the three places.
        ident: Its id: letters, digits, '.', '_' and '-'.
        one: The reference.
        generation: The generation that it names.

    Raises:
        Missing: The generation is gone; there is no reference then.
        OSError: It could not be written.
    """
    path = _file(folder, ident)
    folder.mkdir(parents=True, exist_ok=True)
    data = {name: value for name, value in asdict(one).items() if name != "writer"}
    write_atomically(path, json.dumps({"schema": SCHEMA, **data}) + "\n")
    if not generation.complete:
        path.unlink(missing_ok=True)
        raise Missing(f"environment: {one.environment} has no generation {one.generation}; it was removed")
    return path


def release(folder: Path, ident: str) -> bool:
    """Remove a reference; return whether there was one. Raises OSError."""
    try:
        _file(folder, ident).unlink()
    except FileNotFoundError:
        return False
    return True


def _file(folder: Path, ident: str) -> Path:
    if not NAME.fullmatch(ident):
        raise Wrong(f"reference: {quoted(ident)} is not an id; use letters, digits, '.', '_' and '-'")
    return folder / f"{ident}{_SUFFIX}"


def uses(env: EnvFolder) -> list[Use]:
    """Return the references to all generations of an environment that count now.

    Raises:
        Damaged: One of the service or of the owner cannot be read: nothing can be removed then. A file of another user
            that cannot be read is left out: nobody's carelessness blocks the owner.
    """
    name = str(env.name)
    moment = now()
    found = [one for one in _all(env) if one.environment == name]
    return sorted(
        (one for one in found if one.until is None or one.until > moment), key=lambda one: (one.generation, one.what)
    )


def written(folder: Path) -> dict[str, Use]:
    """Return the references of one of the three places by id. One that cannot be read names no environment."""
    return {path.name[: -len(_SUFFIX)]: _read_or_nothing(path) for path in _files(folder)}


def _read_or_nothing(path: Path) -> Use:
    try:
        return _read(path, "")
    except Damaged:
        return Use("", 0, "task", "", "")


def _all(env: EnvFolder) -> Iterator[Use]:
    for path in _files(env.references):
        yield _read(path, str(env.name.owner.name))
    for path in _files(folder_for(env.root, None)):
        yield _read(path, SERVICE)
    users = env.root / FOLDER / "users"
    for user in _names(users):
        for path in _files(users / user):
            with contextlib.suppress(Damaged):
                yield _read(path, user)


def _read(path: Path, writer: str) -> Use:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        known = (data["environment"], data["generation"], data["kind"], data["what"], data["since"], data.get("until"))
    except FileNotFoundError:
        # Released between the look into the folder and this one.
        return Use("", 0, "keep", "", "")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path}: is no reference to an environment ({error}); its writer has to replace it") from None
    if not isinstance(known[1], int) or not all(isinstance(one, str) for one in (known[0], *known[2:5])):
        raise Damaged(f"{path}: is no reference to an environment; its writer has to replace it")
    return Use(*known, writer=writer)


def _files(folder: Path) -> list[Path]:
    return [folder / name for name in _names(folder) if name.endswith(_SUFFIX) and not name.startswith(".")]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def in_use(generation: Generation) -> list[str]:
    """Return what uses a generation, in words: processes of this machine whose Python is the generation's."""
    return processes_in(generation.prefix)


def processes_in(prefix: Path) -> list[str]:
    """Return the processes of this machine whose Python is in a folder, as `process 42`, but for the one that asks."""
    inside = f"{os.path.realpath(prefix)}/"
    # A command that was typed in an activated environment has its VIRTUAL_ENV, and uses nothing of it.
    pids = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return [f"process {pid}" for pid in pids if any(path.startswith(inside) for path in _paths(pid))]


def users_of(env: EnvFolder, generation: Generation, found: list[Use] | None = None) -> list[str]:
    """Return all that uses a generation, in words: processes of this machine, and references. Raises Damaged."""
    known = uses(env) if found is None else found
    return [*in_use(generation), *(str(one) for one in known if one.generation == generation.number)]


def now() -> str:
    """Return this moment, RFC 3339, in UTC."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _paths(pid: str) -> list[str]:
    """Return the program of a process as it was called, and its VIRTUAL_ENV."""
    paths = []
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            paths.append(os.fsdecode(file.read().split(b"\0")[0]))
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
        paths += [f"{os.fsdecode(entry[12:])}/" for entry in entries if entry.startswith(b"VIRTUAL_ENV=")]
    except OSError:
        pass
    return paths
