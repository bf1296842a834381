"""What a verb prints that has made a generation, or found that nothing has changed."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from haienv.cli.session import answer, words_of
from haienv.shared.space import quantity
from haienv.store import lockfile
from haienv.store import manifest as manifests
from haienv.store.layout import EnvFolder, Generation
from haienv.store.manifest import Manifest


def built(arguments: argparse.Namespace, env: EnvFolder, made: Generation, before: Manifest | None) -> int:
    """Print what a build has made; `before` is the manifest of what was current."""
    now = manifests.read(made.manifest)
    changed = before is None or made.number != before.generation
    old = {} if before is None else lockfile.read(env.generation(before.generation).lock)
    found = lockfile.diff(old, lockfile.read(made.lock)) if changed else []
    data = {
        "environment": str(env.name),
        "generation": made.number,
        "changed": changed,
        "digest": now.digest,
        "python": now.python,
        "files": now.files,
        "size": now.size,
        "prefix": str(made.prefix),
        "changes": [asdict(one) for one in found],
    }
    if not changed:
        return answer(arguments, data, f"{env.name}@{made.number} stays: nothing has changed")
    first = f"{env.name}@{made.number}: {now.files} files, {quantity(now.size)}, Python {now.python}"
    return answer(arguments, data, first, *(f"  {line}" for line in (words_of(found) if before is not None else [])))
