"""Writes the snapshot of a task's code into a folder, as it was taken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from hai_client.errors import HaiError, Invalid
from hai_client.snapshots import manifest
from hai_client.snapshots.manifest import LINK, PROGRAM, Manifest
from hai_client.snapshots.packing import BadStream, Unpacker

_ANY_NUMBER = 2**31


class CodeSource(Protocol):
    """What of `Client` is needed here."""

    def task_manifest(self, task: str) -> bytes:
        """Return the manifest of a task's snapshot."""

    def task_contents(self, task: str, start: int) -> bytes:
        """Return contents of a task's snapshot, from the one with number `start` on."""


def manifest_of(service: CodeSource, task: str) -> Manifest:
    """Return the manifest of a task's snapshot. Raises HaiError."""
    try:
        return manifest.parse(service.task_manifest(task), most=_ANY_NUMBER)
    except manifest.BadManifest as error:
        raise HaiError(f"snapshot: the manifest of {task} cannot be used: {error}") from None


def pull(service: CodeSource, task: str, folder: Path) -> Manifest:
    """Write the snapshot of a task into a folder that is new or empty; every content is checked.

    Args:
        service: Where it is stored.
        task: The task.
        folder: The folder.

    Raises:
        Invalid: The folder is not empty, or cannot be written.
        HaiError: What the service says.
    """
    found = manifest_of(service, task)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Invalid(f"folder: {folder} is not empty; name a new one")
        _write(service, task, folder, found)
    except OSError as error:
        raise Invalid(f"folder: {folder} cannot be written ({(error.strerror or str(error)).lower()})") from None
    return found


def _write(service: CodeSource, task: str, folder: Path, found: Manifest) -> None:
    places: dict[str, list[str]] = {}
    for entry in found.entries:
        target = folder / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind == LINK:
            target.symlink_to(entry.what)
        else:
            places.setdefault(entry.what, []).append(entry.path)
    programs = {entry.path for entry in found.entries if entry.kind == PROGRAM}
    left = dict(found.blobs)
    number = len(left)
    while left:
        unpacker = Unpacker(left)
        parts: list[bytes] = []
        before = len(left)
        try:
            for digest, part, complete in unpacker.take(service.task_contents(task, number - before)):
                parts.append(part)
                if complete:
                    content = b"".join(parts)
                    parts.clear()
                    del left[digest]
                    for path in places[digest]:
                        _file(folder / path, content, runs=path in programs)
            unpacker.finish()
        except BadStream as error:
            raise HaiError(f"snapshot: what has come for {task} cannot be used: {error}") from None
        if len(left) == before:
            raise HaiError(f"snapshot: the service has sent nothing more of {task}; try again")


def _file(path: Path, content: bytes, *, runs: bool) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o777 if runs else 0o666)
    with open(handle, "wb") as file:
        file.write(content)
