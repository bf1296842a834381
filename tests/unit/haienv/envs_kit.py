"""Environments made by hand, without uv: folders, manifests, locks, and a prefix with this machine's Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from haienv.store.generations import changing, commit, next_number
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest
from haienv.store.names import EnvName, Owner
from haienv.store.spec import Spec

ANN = Owner("users", "ann")
FACTS: dict[str, Any] = {
    "digest": "sha256:0", "files": 3, "size": 1500, "lock": "sha256:1", "python": "3.11.7",
    "interpreter": "/usr/bin/python3", "machine": "x86_64", "glibc": "2.36", "cuda": None, "extends": None,
    "extends_digest": None, "requirements": (), "built_by": "ann", "built_at": "2026-01-01T00:00:00Z", "kernel": False,
}  # fmt: skip


def env_of(root: Path, name: str = "vision", owner: Owner = ANN) -> EnvFolder:
    """The folder of an environment, which may not exist."""
    return EnvFolder(root, EnvName(owner, name))


def a_manifest(env: EnvFolder, number: int, **changes: Any) -> Manifest:
    """The manifest of a generation."""
    return Manifest(**{"name": str(env.name), "generation": number, **FACTS, **changes})


def publish(env: EnvFolder, *packages: str, spec: Spec | None = None, **changes: Any) -> Generation:
    """Make the next generation of an environment, with these packages (`six==1.17.0`), and make it current."""
    with changing(env, "test", say=print, new=True):
        generation = env.generation(next_number(env))
        site = generation.prefix / "lib" / "python3.11" / "site-packages"
        site.mkdir(parents=True)
        (site / "one.py").write_text("X = 1\n")
        (generation.prefix / "bin").mkdir()
        generation.python.symlink_to(sys.executable)
        generation.lock.write_text("".join(f"{one}\n" for one in packages))
        commit(env, generation, a_manifest(env, generation.number, **changes), (spec or Spec()).text())
    return generation
