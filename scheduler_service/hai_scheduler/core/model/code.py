"""Snapshots of code: what a task's folder held when it was submitted, in which all its runs start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSnapshot:
    """The snapshot of a task."""

    #: The SHA-256 of its manifest, which names all files with their contents.
    digest: str
    #: How many files and links it has, and the bytes of all files.
    files: int
    size: int
    #: The commit of git that was checked out, as the client says; None: there was none.
    commit: str | None = None
    #: Whether a file was not as in that commit, as the client says.
    dirty: bool = False
