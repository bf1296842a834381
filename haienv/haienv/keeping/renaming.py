"""Gives an environment another name. Its generations know their own place: they are made there again, by hard links."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Callable

from haienv.keeping.removal import refuse_used
from haienv.shared import acl, snapshot, tree
from haienv.shared.errors import Wrong
from haienv.shared.unfollowed import remove_tree
from haienv.store import kernels, lockfile
from haienv.store import manifest as manifests
from haienv.store.generations import changing, discard, link_current, staged_in
from haienv.store.layout import EnvFolder, folder_of
from haienv.store.names import EnvName


def rename(
    env: EnvFolder,
    to: EnvFolder,
    *,
    extended_by: list[EnvName],
    say: Callable[[str], None],
) -> None:
    """Give an environment another name of the same owner. It is there under one of the names at every moment.

    Args:
        env: The environment.
        to: Its new place.
        extended_by: The environments that extend it.
        say: Called with a sentence when there is something to wait for.

    Raises:
        Wrong: The name is taken, or something uses or extends the environment.
        Missing: There is no such environment.
    """
    if env.name.owner != to.name.owner:
        raise Wrong(f"environment: {env.name} cannot become one of {to.name.owner}; `haienv clone` makes one there")
    if extended_by:
        others = ", ".join(map(str, extended_by[:5]))
        raise Wrong(f"environment: {others} extends {env.name}; remove these first, or keep the name")
    with changing(env, f"rename {env.name}", say=say):
        refuse_used(env, "rename")
        if env.draft.exists():
            raise Wrong(
                f"environment: a draft of {env.name} is open; `haienv freeze {env.name}`, then"
                f" `haienv draft {env.name} --discard`"
            )
        for generation in env.generations():
            lockfile.refuse_conda(generation.lock, "rename")
        if os.path.lexists(to.folder):
            raise Wrong(f"environment: {to.name} exists; choose another name, or `haienv remove` it")
        stage = staged_in(folder_of(env.root, env.name.owner))
        try:
            _fill(stage, env, to)
            # A folder that came meanwhile is not empty, and the rename is refused.
            os.rename(stage, to.folder)
        except BaseException:
            remove_tree(stage)
            raise
        kernels.offer(to)
        kernels.withdraw(env)
        discard(env.folder)


def _fill(stage: Path, env: EnvFolder, to: EnvFolder) -> None:
    """Make the environment under its new name in a folder that nobody sees."""
    new = EnvFolder(env.root, EnvName(to.name.owner, stage.name))
    new.generations_folder.mkdir()
    for old in env.generations():
        one = new.generation(old.number)
        one.folder.mkdir()
        snapshot.link_tree(old.prefix, one.prefix)
        tree.seal(one.prefix)
        for path in (old.lock, old.spec, old.log):
            if path.exists():
                os.link(path, one.folder / path.name)
        manifest = replace(manifests.read(old.manifest), name=str(to.name))
        if manifest.kernel:
            kernels.write(
                to.generation(old.number), to.name, dict(manifest.variables), manifest.python, below=one.folder
            )
        manifest.write(one.manifest)
    for path in (env.spec, env.folder / "last"):
        if path.exists():
            os.link(path, new.folder / path.name)
    current = env.current()
    if current is not None:
        link_current(new, current.number)
    acl.write(new.folder, acl.read(env.folder))
    facts = os.stat(env.folder)
    os.chown(new.folder, -1, facts.st_gid)
