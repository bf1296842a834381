"""The verbs that keep or remove generations: `rollback`, `remove`, `gc`, `keep`, `unkeep` and `doctor`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from haienv.cli.parser import add_name, add_verb, filled
from haienv.cli.session import answer, chosen, note, own, registry
from haienv.keeping import removal
from haienv.shared import tree
from haienv.shared.errors import Damaged, Missing, Wrong
from haienv.shared.space import quantity
from haienv.store import manifest as manifests
from haienv.store import names, references
from haienv.store import spec as specs
from haienv.store.generations import changing, publish, sweep
from haienv.store.layout import EnvFolder, Generation, folder_of


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    rollback = add_verb(verbs, "rollback", "make an earlier generation the current one", _rollback, writes=True)
    add_name(rollback, "the environment; NAME@N chooses the generation (default: the one before)")
    remove = add_verb(verbs, "remove", "remove an environment with all its generations", _remove)
    add_name(remove)
    remove.add_argument(
        "--with-draft", action="store_true", help="and its draft, with changes in it that no generation has"
    )
    gc = add_verb(verbs, "gc", "remove old generations that nothing uses", _gc)
    gc.add_argument("name", metavar="NAME", nargs="?", help="the environment (default: all of your own)")
    gc.add_argument("-u", "--user", metavar="USER", type=filled, help="the owner, if it is another user's")
    gc.add_argument("--keep", metavar="N", type=int, default=removal.KEPT, help="earlier ones to keep (default: 3)")
    for verb, about, run in (
        ("keep", "let gc and remove leave a generation", _keep),
        ("unkeep", "let gc and remove have it again", _unkeep),
    ):
        one = add_verb(verbs, verb, about, run, writes=True)
        add_name(one, "the environment; NAME@N chooses the generation (default: the current one)")
        if verb == "keep":
            one.add_argument("--why", metavar="TEXT", default="", help="reason for keeping it")
    doctor = add_verb(verbs, "doctor", "compare the files of a generation with its manifest", _doctor)
    add_name(doctor)


def _rollback(arguments: argparse.Namespace) -> int:
    ref = names.parse(arguments.name, user=arguments.user)
    known = registry()
    env = known.own(names.Reference(ref.name, ref.owner))
    with changing(env, f"rollback {env.name}", say=note):
        current = env.current()
        if current is None:
            raise Missing(f"environment: there is no {env.name}")
        earlier = [one for one in env.generations() if one.number < current.number]
        named = (
            earlier if ref.generation is None else [one for one in env.generations() if one.number == ref.generation]
        )
        if not named:
            which = "earlier generation" if ref.generation is None else f"generation {ref.generation}"
            there = ", ".join(str(one.number) for one in env.generations())
            raise Missing(f"environment: {env.name} has no {which}; it has {there}")
        specs.read(named[-1].spec).write(env.spec)
        publish(env, named[-1])
    data = {"environment": str(env.name), "generation": named[-1].number, "before": current.number}
    return answer(arguments, data, f"{env.name}@{named[-1].number} is current; it was {current.number}")


def _remove(arguments: argparse.Namespace) -> int:
    env = own(arguments)
    drafted = env.draft.exists()
    removal.remove(env, say=note, check=lambda: None if arguments.with_draft else _refuse_changed_draft(env))
    said = f"{env.name} is removed{', with its draft' if drafted else ''}"
    return answer(arguments, {"environment": str(env.name), "removed": True, "draft": drafted}, said)


def _refuse_changed_draft(env: EnvFolder) -> None:
    """Raise Wrong if the draft of an environment has changes, which would be gone with it."""
    # Imported here: the other verbs do not look into drafts.
    from haienv.building import drafts

    if drafts.changed(env):
        raise Wrong(
            f"draft: that of {env.name} has changes that no generation has, and they would be gone: `haienv freeze"
            f" {env.name}` makes a generation of them; `haienv remove {env.name} --with-draft`, or first `haienv draft"
            f" {env.name} --discard`, removes them"
        )


def _gc(arguments: argparse.Namespace) -> int:
    known = registry()
    mine = [known.folder(name) for name in known.names([known.caller.own])]
    envs = [own(arguments)] if arguments.name else mine
    data: dict[str, Any] = {"removed": [], "kept": []}
    lines = []
    for env in envs:
        for one in removal.collect(env, arguments.keep, say=note):
            entry = {"environment": str(env.name), "generation": one.generation, "size": one.size}
            if one.kept_by:
                data["kept"].append({**entry, "by": list(one.kept_by)})
                lines.append(f"{env.name}@{one.generation} stays: {one.kept_by[0]} uses it")
            else:
                data["removed"].append(entry)
                size = quantity(one.size)
                lines.append(f"{env.name}@{one.generation} is removed ({size}, less what others share by hard links)")
    if not arguments.name and folder_of(known.root, known.caller.own).is_dir():
        sweep(folder_of(known.root, known.caller.own))
    if not data["removed"]:
        lines.append(f"nothing to remove: {arguments.keep} generations before the current one are kept")
    return answer(arguments, data, *lines)


def _place(arguments: argparse.Namespace) -> tuple[EnvFolder, Generation, Path, str]:
    """Return the generation to keep, the folder where the caller's references to it are, and the id."""
    env, generation = chosen(arguments)
    known = registry()
    if env.name.owner == known.caller.own:
        return env, generation, env.references, f"keep-{generation.number}"
    owner = env.name.owner
    ident = "-".join(one for one in ("keep", owner.level, owner.name, env.name.name, str(generation.number)) if one)
    return env, generation, references.folder_for(known.root, known.caller.name), ident


def _keep(arguments: argparse.Namespace) -> int:
    env, generation, folder, ident = _place(arguments)
    what = f"`haienv keep`{': ' + arguments.why if arguments.why else ''}"
    try:
        references.hold(folder, ident, references.use(generation, env.name, "keep", what), generation)
    except PermissionError:
        raise Wrong(
            f"environment: no right to write {folder}, where what you keep of others is noted; an admin makes it by"
            f" `haienv init --user {registry().caller.name}`"
        ) from None
    data = {"environment": str(env.name), "generation": generation.number, "kept": True}
    return answer(arguments, data, f"{env.name}@{generation.number} is kept until `haienv unkeep`")


def _unkeep(arguments: argparse.Namespace) -> int:
    env, generation, folder, ident = _place(arguments)
    released = references.release(folder, ident)
    data = {"environment": str(env.name), "generation": generation.number, "kept": False, "was_kept": released}
    said = "is kept no longer" if released else "was not kept by you"
    return answer(arguments, data, f"{env.name}@{generation.number} {said}")


def _doctor(arguments: argparse.Namespace) -> int:
    env, generation = chosen(arguments)
    manifest = manifests.read(generation.manifest)
    found = tree.contents(generation.prefix)
    if found.digest != manifest.digest:
        raise Damaged(
            f"{env.name}@{generation.number}: its files differ from its manifest ({found.files} files,"
            f" {manifest.files} were built); `haienv rebuild` makes a new generation from the same lock"
        )
    data = {"environment": str(env.name), "generation": generation.number, "digest": found.digest, "files": found.files}
    line = f"{env.name}@{generation.number}: {found.files} files, {found.digest}: as it was built"
    return answer(arguments, data, line)
