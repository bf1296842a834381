"""Removes generations and environments that nothing uses. References and removals may come at the same moment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Callable

from haienv.shared.errors import Damaged, HaienvError, Wrong
from haienv.shared.unfollowed import remove_tree
from haienv.store import kernels
from haienv.store import manifest as manifests
from haienv.store.generations import changing, discard
from haienv.store.layout import EnvFolder, Generation
from haienv.store.references import processes_in, users_of, uses

#: How many generations before the current one `collect` keeps, unless told otherwise.
KEPT = 3
#: How many of those that use an environment a message names.
NAMED = 20


class InUse(Wrong):
    """Something uses what should be removed."""


@dataclass(frozen=True)
class Collected:
    """What `collect` has done with one generation."""

    generation: int
    size: int  #: The sum of the sizes of its files, bytes. Others may share them by hard links.
    kept_by: tuple[str, ...] = ()  #: Why it stays; empty: it is removed.


def collect(env: EnvFolder, keep: int, *, say: Callable[[str], None]) -> list[Collected]:
    """Remove the old generations of an environment that nothing uses, and what builds that died have left.

    Args:
        env: The environment.
        keep: How many generations before the current one stay in any case.
        say: Called with a sentence when there is something to wait for.

    Raises:
        Damaged: It is not certain what uses them; nothing is removed.
    """
    if keep < 0:
        raise Wrong(f"keep: {keep} is less than 0; write how many earlier generations should stay, for example 3")
    with changing(env, f"gc {env.name}", say=say):
        current = env.current()
        draft = _origin_of_draft(env)
        others = [one for one in env.generations() if current is None or one.number != current.number]
        done = []
        for one in others[: max(0, len(others) - keep)]:
            size = _size_of(one)
            users = ["the draft"] if one.number == draft else _removed(env, one)
            done.append(Collected(one.number, size, tuple(users)))
        return done


def _origin_of_draft(env: EnvFolder) -> int | None:
    """Return the generation that the draft was opened from, which tells what has changed in it; None: no draft."""
    try:
        return int((env.draft / "from").read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def _size_of(one: Generation) -> int:
    try:
        return manifests.read(one.manifest).size
    except Damaged:
        return 0


def _removed(env: EnvFolder, one: Generation) -> list[str]:
    """Remove a generation; return what uses it instead, if anything does."""
    users = users_of(env, one)
    if users:
        return users
    os.rename(one.manifest, one.hidden_manifest)
    try:
        users = users_of(env, one)
    except HaienvError:
        os.rename(one.hidden_manifest, one.manifest)
        raise
    if users:
        os.rename(one.hidden_manifest, one.manifest)
        return users
    os.unlink(one.hidden_manifest)
    remove_tree(one.folder)
    return []


def remove(env: EnvFolder, *, say: Callable[[str], None], check: Callable[[], None] = lambda: None) -> None:
    """Remove an environment with all its generations and its draft.

    Args:
        env: The environment.
        say: Called with a sentence when there is something to wait for.
        check: Called while nobody else can change it; what this raises leaves all as it is.

    Raises:
        InUse: Something uses it; the message lists what. Nothing has changed.
        Missing: There is none.
    """
    with changing(env, f"remove {env.name}", say=say):
        refuse_used(env, "remove")
        check()
        hidden = []
        try:
            for one in env.generations():
                os.rename(one.manifest, one.hidden_manifest)
                hidden.append(one)
            # A writer of a reference who came before this has seen the manifest.
            refuse_used(env, "remove")
        except BaseException:
            for one in hidden:
                os.rename(one.hidden_manifest, one.manifest)
            raise
        kernels.withdraw(env)
        discard(env.folder)


def refuse_used(env: EnvFolder, verb: str) -> None:
    """Raise InUse if anything uses a generation of an environment, or its draft. Raises Damaged too."""
    found = uses(env)
    users = [f"{user} (@{one.number})" for one in env.begun() for user in users_of(env, one, found)]
    users += [f"{one} (draft)" for one in processes_in(env.draft / "prefix")]
    if users:
        more = f" and {len(users) - NAMED} more" if len(users) > NAMED else ""
        raise InUse(
            f"environment: {env.name} is in use by {', '.join(users[:NAMED])}{more}; end or release these"
            f" first, then {verb} it (`haienv unkeep` releases what was kept)"
        )
