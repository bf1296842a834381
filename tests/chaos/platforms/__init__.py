"""The platforms that can be struck: `hai up` on SQLite, and two replicas on PostgreSQL and Redis."""

from __future__ import annotations

from pathlib import Path

from chaos.platforms.base import Platform
from chaos.platforms.hai_up import HaiUp
from chaos.platforms.replicas import Replicas

KINDS: dict[str, type[Platform]] = {"sqlite": HaiUp, "postgres": Replicas}


def make(kind: str, home: Path, nodes: int) -> Platform:
    """A platform that has not been started, with its folder."""
    return KINDS[kind](home, nodes)
