"""Finds environments by their folders. Only names of folders, links and manifests are read; nothing is executed."""

from __future__ import annotations

import grp
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

from haienv.shared import locking
from haienv.shared.errors import Damaged, Missing, Wrong
from haienv.store import manifest as manifests
from haienv.store import trust
from haienv.store.layout import EnvFolder, Generation, folder_of
from haienv.store.manifest import Manifest
from haienv.store.names import BASE, GROUPS, LEVELS, NAME, USERS, EnvName, Owner, Reference

#: How many groups a message names.
MOST_NAMED = 20


@dataclass(frozen=True)
class Caller:
    """The user who asks: their name and groups."""

    name: str
    groups: tuple[str, ...] = ()

    @property
    def own(self) -> Owner:
        """The owner of the user's own environments."""
        return Owner(USERS, self.name)


@dataclass(frozen=True)
class Listed:
    """An environment in a list."""

    name: EnvName
    manifest: Manifest | None  #: None: it has no complete generation.
    trouble: str = ""  #: What is wrong with it; empty: nothing.
    draft: bool = False  #: Whether there is a draft, which may have changes that are in no generation.


class Registry:
    """All environments below a root.

    Args:
        root: The folder of all environments.
        caller: Who asks.
    """

    def __init__(self, root: Path, caller: Caller) -> None:
        self.root = root
        self.caller = caller

    def folder(self, name: EnvName) -> EnvFolder:
        """Return the folder of an environment, which may not exist."""
        return EnvFolder(self.root, name)

    def own(self, ref: Reference) -> EnvFolder:
        """Return the folder that a reference means when it is to be changed: a bare name is the caller's own.

        Raises:
            Missing: There is no such group.
            Wrong: It names a generation.
        """
        if ref.generation is not None:
            raise Wrong(f"environment: {ref} names a generation, and generations never change; write {ref.name}")
        if ref.owner is not None and ref.owner.level == GROUPS:
            self._check_group(ref.owner)
        return self.folder(EnvName(ref.owner or self.caller.own, ref.name))

    def _check_group(self, owner: Owner) -> None:
        """Raise Missing for a group that nobody knows: neither the platform, nor this machine, nor the root."""
        if owner.name in self.caller.groups or folder_of(self.root, owner).is_dir() or _is_unix_group(owner.name):
            return
        known = sorted({*self.caller.groups, *_folders(self.root / GROUPS)})
        choice = f"choose one of {', '.join(known[:MOST_NAMED])}" if known else "you are in none, and none has a folder"
        raise Missing(f"group: there is no group {owner.name!r}: {choice}")

    def find(self, ref: Reference) -> EnvFolder:
        """Return the environment that a reference means.

        A bare name is looked up among the caller's own, then the groups' in order of names, then the base ones.

        Raises:
            Missing: There is none; the message says where it was looked for.
            Wrong: Somebody else may have put it there, or the caller may not read it.
        """
        owners = [ref.owner] if ref.owner is not None else list(self.owners())
        for owner in owners:
            found = self.folder(EnvName(owner, ref.name))
            if _exists(found):
                trust.check(found)
                return found
        for owner in owners:
            self._check_begun(self.folder(EnvName(owner, ref.name)))
        near = sorted({str(one) for one in self.names() if one.name == ref.name or ref.name in one.name})
        places = " and ".join(str(owner) for owner in owners)
        hint = f"; do you mean {near[0]}?" if near else "; `haienv list -a` shows all"
        raise Missing(f"environment: there is no {ref.name!r} in {places} below {self.root}{hint}")

    def _check_begun(self, env: EnvFolder) -> None:
        """Raise Missing if the first build of an environment goes on, or was cut short."""
        if not env.begun():
            return
        if locking.held(env.build_lock):
            raise Missing(f"environment: {env.name} is being built: {locking.who(env.build_lock)}; wait for it")
        raise Missing(
            f"environment: {env.name} has no generation: its first build has not ended; `haienv create {env.name.name}`"
            " with its packages builds it again"
        )

    def generation(self, ref: Reference) -> tuple[EnvFolder, Generation]:
        """Return the environment and the generation that a reference means. Raises Missing."""
        env = self.find(ref)
        chosen = env.current() if ref.generation is None else env.generation(ref.generation)
        if chosen is None or not chosen.complete:
            known = ", ".join(str(one.number) for one in env.generations()) or "none"
            number = "current" if chosen is None else chosen.number
            raise Missing(f"environment: {env.name} has no generation {number}; it has {known}")
        return env, chosen

    def owners(self) -> Iterator[Owner]:
        """Return the owners whose environments the caller sees by bare names, in order of precedence."""
        yield self.caller.own
        for group in sorted(self.caller.groups):
            yield Owner(GROUPS, group)
        yield Owner(BASE)

    def names(self, owners: Sequence[Owner] | None = None) -> list[EnvName]:
        """Return the names of the environments of some owners (None: of all), in order."""
        return [
            EnvName(owner, name)
            for owner in (self._all_owners() if owners is None else owners)
            for name in _folders(folder_of(self.root, owner))
            if trust.closed(env := self.folder(EnvName(owner, name))) or os.path.lexists(env.generations_folder)
        ]

    def listed(self, owners: Sequence[Owner] | None = None, more: Sequence[EnvName] = ()) -> list[Listed]:
        """Return the environments of some owners (None: of all), and some more, with their manifests."""
        return [self._look_at(name) for name in [*self.names(owners), *more]]

    def _look_at(self, name: EnvName) -> Listed:
        env = self.folder(name)
        if trust.closed(env):
            return Listed(name, None, "it is not shared with you")
        current = env.current()
        if current is None:
            return Listed(name, None, "its first build has not ended")
        try:
            return Listed(name, manifests.read(current.manifest), draft=os.path.isdir(env.draft))
        except FileNotFoundError:
            return Listed(name, None, f"generation {current.number} is gone")
        except Damaged as error:
            return Listed(name, None, str(error))

    def _all_owners(self) -> Iterator[Owner]:
        for level in LEVELS:
            if level == BASE:
                yield Owner(BASE)
            else:
                for name in _folders(self.root / level):
                    yield Owner(level, name)


def _exists(env: EnvFolder) -> bool:
    """Return whether an environment has a current generation, or cannot be looked into."""
    try:
        os.lstat(env.current_link)
    except PermissionError:
        return os.path.isdir(env.folder)
    except OSError:
        return False
    return env.current_link.is_symlink()


def _is_unix_group(name: str) -> bool:
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def _folders(place: Path) -> list[str]:
    """Return the names of the folders in a folder that can be names of environments; none if it cannot be read."""
    try:
        with os.scandir(place) as entries:
            return sorted(one.name for one in entries if NAME.fullmatch(one.name) and one.is_dir(follow_symlinks=False))
    except OSError:
        return []
