"""The snapshot of code that a submission names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """A snapshot of code that the caller has sent."""

    __pydantic_config__ = ConfigDict(title="SnapshotIn", extra="forbid")

    #: The SHA-256 of its manifest.
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    #: The commit of git that was checked out; None: there is none.
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}$")] | None = None
    #: Whether a file was not as in that commit.
    dirty: bool = False
