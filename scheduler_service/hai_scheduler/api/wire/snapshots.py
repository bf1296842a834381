"""Models of snapshots of code."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire.base import MAX_NUMBER, Input, Output


class SnapshotRulesQuery(Input):
    """Whose rules."""

    #: The node group.
    group: Annotated[str, Field(max_length=128)] = "training"


class SnapshotPackQuery(Input):
    """Which part of a snapshot."""

    #: How many of its different contents, in the order of the manifest, the caller has already.
    start: Annotated[int, Field(ge=0, le=MAX_NUMBER)] = 0


class SnapshotRules(Output):
    """What a client needs to know before it takes a snapshot of a folder."""

    #: Whether tasks of the group start in a snapshot of their code: never, if users choose it, or always.
    mode: Literal["off", "offered", "required"]
    #: A text by which a client on the platform's own machine knows that tasks see its files; null: no client does.
    machine: str | None
    #: The most files and bytes of a snapshot, and bytes of a single file.
    max_files: int
    max_bytes: int
    max_file_bytes: int


class SnapshotState(Output):
    """How much of a snapshot the service has."""

    digest: str
    #: How many files and links it has, and the bytes of all files.
    files: int
    size: int
    #: Whether everything is there, so that tasks can start in it.
    complete: bool
    #: The SHA-256 of each content that is missing, in the order of the manifest.
    missing: list[str]
