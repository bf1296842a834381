"""The verbs that keep or remove generations: `rollback`, `remove`, `gc` and `doctor`."""

from __future__ import annotations

import argparse
import getpass
import os
from typing import Any

from haienv.building.builder import publish, remove_tree
from haienv.cli.parser import add_name, add_verb
from haienv.cli.session import chosen, note, own, quantity
from haienv.shared import locking, tree
from haienv.shared.errors import Damaged, Missing, Wrong
from haienv.store import manifest as manifests
from haienv.store import spec as specs
from haienv.store.layout import EnvFolder
from haienv.store.references import in_use

#: How many generations before the current one `gc` keeps, unless told otherwise.
KEPT = 3


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    rollback = add_verb(verbs, "rollback", "make an earlier generation the current one", _rollback)
    add_name(rollback, "the environment; NAME@N chooses the generation (default: the one before)")
    remove = add_verb(verbs, "remove", "remove an environment with all its generations", _remove)
    add_name(remove)
    gc = add_verb(verbs, "gc", "remove old generations that nothing uses", _gc)
    add_name(gc)
    gc.add_argument("--keep", metavar="N", type=int, default=KEPT, help="earlier ones to keep (default: 3)")
    doctor = add_verb(verbs, "doctor", "compare the files of a generation with its manifest", _doctor)
    add_name(doctor)


def _rollback(arguments: argparse.Namespace) -> int:
    name, at, number = arguments.name.partition("@")
    arguments.name = name
    env = own(arguments)
    current = env.current()
    if current is None:
        raise Missing(f"environment: there is no {env.name}")
    earlier = [one for one in env.generations() if one.number < current.number]
    named = [one for one in env.generations() if str(one.number) == number] if at else earlier
    chosen_one = named[-1] if named else None
    if chosen_one is None:
        known = ", ".join(str(one.number) for one in env.generations())
        raise Missing(
            f"environment: {env.name} has no {'generation ' + number if at else 'earlier generation'}; it has {known}"
        )
    with locking.building(env.build_lock, f"rollback {env.name}", user=getpass.getuser(), wait_s=None, say=note):
        specs.read(chosen_one.spec).write(env.spec)
        publish(env, chosen_one)
    print(f"{env.name}@{chosen_one.number} is current; it was {current.number}")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    env = own(arguments)
    if not env.folder.is_dir():
        raise Missing(f"environment: there is no {env.name}")
    users = [use for one in env.generations() for use in in_use(one)]
    if users:
        raise Wrong(f"environment: {env.name} is in use by {', '.join(users[:5])}; end these first")
    with locking.building(env.build_lock, f"remove {env.name}", user=getpass.getuser(), wait_s=None, say=note):
        env.current_link.unlink(missing_ok=True)
        remove_tree(env.folder)
    print(f"{env.name} is removed")
    return 0


def _gc(arguments: argparse.Namespace) -> int:
    env = own(arguments)
    if not env.folder.is_dir():
        raise Missing(f"environment: there is no {env.name}")
    with locking.building(env.build_lock, f"gc {env.name}", user=getpass.getuser(), wait_s=None, say=note):
        return _collect(env, arguments.keep)


def _collect(env: EnvFolder, keep: int) -> int:
    current = env.current()
    others = [one for one in env.generations() if current is None or one.number != current.number]
    removed = 0
    for one in others[: max(0, len(others) - keep)]:
        users = in_use(one)
        if users:
            note(f"{env.name}@{one.number} stays: {users[0]} uses it")
            continue
        size = manifests.read(one.manifest).size
        # Without its manifest it does not count any more, whatever happens to the rest.
        os.unlink(one.manifest)
        remove_tree(one.folder)
        removed += 1
        print(f"{env.name}@{one.number} is removed ({quantity(size)}, less what others share by hard links)")
    if not removed:
        print(f"nothing to remove: {len(others) + 1} generations, {keep} earlier ones are kept")
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    env, generation = chosen(arguments)
    manifest = manifests.read(generation.manifest)
    found = tree.contents(generation.prefix)
    if found.digest != manifest.digest:
        raise Damaged(
            f"{env.name}@{generation.number}: its files differ from its manifest ({found.files} files,"
            f" {manifest.files} were built); `haienv rebuild` makes a new generation from the same lock"
        )
    print(f"{env.name}@{generation.number}: {found.files} files, {found.digest}: as it was built")
    return 0
