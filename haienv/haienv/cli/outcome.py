"""What a verb prints that has made a generation, or found that nothing has changed."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from haienv.cli.session import answer, note, words_of
from haienv.shared.space import quantity
from haienv.store import lockfile
from haienv.store import manifest as manifests
from haienv.store.layout import EnvFolder, Generation, own_root
from haienv.store.login import login_of
from haienv.store.manifest import Manifest
from haienv.store.people import USER_VARIABLE


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
    if before is None:
        _say_where(env)
    if not changed:
        return answer(arguments, data, f"{env.name}@{made.number} stays: nothing has changed")
    first = f"{env.name}@{made.number}: {now.files} files, {quantity(now.size)}, Python {now.python}"
    return answer(arguments, data, first, *(f"  {line}" for line in (words_of(found) if before is not None else [])))


def _say_where(env: EnvFolder) -> None:
    """Tell the user who is logged in to a platform that the new environment is not among those of the platform."""
    login = login_of(os.environ)
    # The platform itself has said whose environments these are: in a server, or in a task.
    if login is None or os.environ.get(USER_VARIABLE):
        return
    if login.root is None and env.root != own_root(os.environ):
        # Such as a folder that this machine shares with the platform's.
        return
    if login.root != env.root:
        theirs = "not on this machine" if login.root is None else f"in {login.root}"
        note(
            f"{env.name} is in {env.root}, and tasks do not find it there: those of {login.url} are {theirs};"
            f" `hai environments build create {env.name.name} ...` makes one there"
        )
