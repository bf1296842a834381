"""Settings of the accounts that processes in pods run as."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hai_scheduler.core.workspace.identity import IdentityRules

Source = Literal["fixed", "file", "claims"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """Where the numbers of users come from."""

    source: Source = "fixed"
    rules: IdentityRules = field(default_factory=IdentityRules)
    #: The files of `file`: accounts, and groups (None: nobody is in another group than the first).
    passwd: Path | None = None
    group: Path | None = None
    #: The group of builds for groups and for all.
    gid: int = 100
