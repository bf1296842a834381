"""Lists environments of haienv: names of folders, manifests and lock files are read, nothing is executed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from hai_scheduler.adapters.environments.reading import LONGEST, regular
from hai_scheduler.ports.haienvs import HaienvDetail, HaienvFault, HaienvList, ListedHaienv, UnknownHaienv
from haienv.shared.errors import HaienvError, Missing
from haienv.store import lockfile, names, trust
from haienv.store import manifest as manifests
from haienv.store.layout import EnvFolder, Generation
from haienv.store.names import BASE, GROUPS, USERS, Owner
from haienv.store.registry import Caller, Registry

#: The most environments of a list, generations of each, and bytes of all manifests together.
MOST_LISTED: Final = 1000
MOST_GENERATIONS: Final = 100
MOST_BYTES: Final = 64 * 1024 * 1024


def registry_of(root: str, user: str, groups: Collection[str]) -> Registry:
    """Return the environments as a user finds them by bare names."""
    caller = Caller(user, tuple(sorted(group for group in groups if names.NAME.fullmatch(group))))
    return Registry(Path(root), caller)


def listed(
    root: str, user: str, groups: Collection[str], *, shared_alone: bool = False, everybodys: bool = False
) -> HaienvList:
    """Return the environments of a user, their groups and base, then those of others that this process may read.

    Args:
        root: The folder of all environments.
        user: The user.
        groups: The user's groups.
        shared_alone: Of others, only those whose mode lets everybody read them.
        everybodys: Those of others that cannot be read too.
    """
    registry = registry_of(root, user, groups)
    mine = [owner for owner in registry.owners() if names.NAME.fullmatch(owner.name or BASE)]
    items: list[ListedHaienv] = []
    left = MOST_BYTES
    for name in _names(registry, mine):
        env, own = registry.folder(name), name.owner in mine
        if not own and not everybodys and not _open(env, shared_alone=shared_alone):
            continue
        if len(items) == MOST_LISTED or left <= 0:
            return HaienvList(items=tuple(items), cut=True)
        left -= _size_of(env)
        found = entry(env)
        if own or everybodys or not found.trouble:
            items.append(found)
    return HaienvList(items=tuple(items))


def shown(root: str, user: str, groups: Collection[str], text: str) -> HaienvDetail:
    """Return the generation that a name means for a user, with its packages. Raises UnknownHaienv and HaienvFault."""
    try:
        env, generation = registry_of(root, user, groups).generation(names.parse(text))
        regular(generation.lock)
        packages = lockfile.read(generation.lock)
    except Missing as error:
        raise UnknownHaienv(str(error)) from None
    except (HaienvError, OSError, ValueError) as error:
        raise HaienvFault(str(error)) from None
    return HaienvDetail(
        found=entry(env, generation), generation=generation.number, packages=packages, prefix=str(generation.prefix)
    )


def entry(env: EnvFolder, shown_: Generation | None = None) -> ListedHaienv:
    """Return the facts of an environment, of its current generation or of another one; never raises."""
    name = str(env.name)
    try:
        trust.check(env)
        current = env.current()
        numbers = tuple(one.number for one in env.generations()[-MOST_GENERATIONS:])
        draft = (env.draft / "prefix").is_dir()
        chosen = shown_ or current
        if current is None or chosen is None:
            return ListedHaienv(name=name, generations=numbers, draft=draft, trouble="its first build has not ended")
        regular(chosen.manifest)
        found = manifests.read(chosen.manifest)
    except FileNotFoundError:
        return ListedHaienv(name=name, trouble="its current generation is gone")
    except (HaienvError, HaienvFault, OSError) as error:
        return ListedHaienv(name=name, trouble=str(error))
    return ListedHaienv(
        name=name,
        generation=current.number,
        generations=numbers,
        digest=found.digest,
        python=found.python,
        cuda=found.cuda,
        files=found.files,
        size=found.size,
        extends=found.extends,
        built_by=found.built_by,
        built_at=found.built_at,
        kernel=found.kernel,
        draft=draft,
    )


def _names(registry: Registry, mine: list[Owner]) -> Iterator[names.EnvName]:
    yield from registry.names(mine)
    for level in (GROUPS, USERS):
        for owner in sorted(_owners(registry.root, level)):
            if owner not in mine:
                yield from registry.names([owner])


def _owners(root: Path, level: str) -> Iterator[Owner]:
    try:
        found = [one.name for one in (root / level).iterdir() if names.NAME.fullmatch(one.name)]
    except OSError:
        found = []
    yield from (Owner(level, name) for name in found)


def _open(env: EnvFolder, *, shared_alone: bool) -> bool:
    """Return whether another owner's environment may be listed: where all is one account, if its mode says so."""
    if not shared_alone:
        return True
    if env.name.owner.level == GROUPS:
        return False
    try:
        return env.folder.stat().st_mode & 0o005 == 0o005
    except OSError:
        return False


def _size_of(env: EnvFolder) -> int:
    """Return the size of the current manifest, bytes; 0: there is none that is read."""
    current = env.current()
    try:
        size = 0 if current is None else current.manifest.lstat().st_size
    except OSError:
        return 0
    return min(size, LONGEST)
