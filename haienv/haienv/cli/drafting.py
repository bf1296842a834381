"""The verbs of drafts: `draft` and `freeze`."""

from __future__ import annotations

import argparse
import os
import pwd
from pathlib import Path
from typing import Any

from haienv.building import drafts
from haienv.cli.outcome import built
from haienv.cli.parser import add_name, add_verb
from haienv.cli.session import answer, note, own, registry
from haienv.shared.errors import Missing
from haienv.store import manifest as manifests
from haienv.store import names


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    draft = add_verb(verbs, "draft", "open a copy of an environment to change with pip or uv", _draft, writes=True)
    add_name(draft)
    draft.add_argument("--discard", action="store_true", help="remove the draft and what was changed in it")
    freeze = add_verb(verbs, "freeze", "make a generation of the draft", _freeze, writes=True)
    add_name(freeze)
    freeze.add_argument(
        "--if-draft", action="store_true", help="as a submission does: succeed too where there is no draft of yours"
    )
    freeze.add_argument("--look", action="store_true", help="change nothing; say whether there is something to freeze")


def _draft(arguments: argparse.Namespace) -> int:
    env = own(arguments)
    if arguments.discard:
        drafts.discard_draft(env, say=note)
        return answer(arguments, {"environment": str(env.name), "draft": None}, f"the draft of {env.name} is removed")
    prefix, new = drafts.open_draft(env, say=note)
    return answer(
        arguments,
        {"environment": str(env.name), "draft": str(prefix), "new": new},
        f"{'opened' if new else 'open already'}: {prefix}",
        f"  source haienv {env.name} --draft    # then `uv pip install ...`, or pip where it is installed",
        f"  haienv freeze {env.name}            # makes a generation of it",
    )


def _freeze(arguments: argparse.Namespace) -> int:
    if arguments.if_draft or arguments.look:
        return _freeze_if_draft(arguments)
    env = own(arguments)
    if not env.draft.is_dir():
        raise Missing(f"draft: {env.name} has none; `haienv draft {env.name}` opens one")
    origin = int((env.draft / "from").read_text(encoding="ascii"))
    before = manifests.read(env.generation(origin).manifest)
    return built(arguments, env, drafts.freeze(env, say=note).generation, before)


def _freeze_if_draft(arguments: argparse.Namespace) -> int:
    """Freeze the draft of the environment that a name means to a task, if there is one that is the caller's."""
    known = registry()
    try:
        env = known.find(names.parse(arguments.name, user=arguments.user))
    except Missing:
        if not arguments.if_draft:
            raise
        return _told(arguments, {"environment": None, "draft": False, "mine": False, "changed": False})
    there = env.draft.is_dir()
    mine = there and (env.name.owner == known.caller.own or _is_callers(env.draft, known.caller.name))
    found = {"environment": str(env.name), "draft": there, "mine": mine, "changed": False, "generation": None}
    if not mine or not drafts.changed(env):
        return _told(arguments, found)
    if arguments.look:
        return _told(arguments, {**found, "changed": True})
    made = drafts.freeze(env, say=note)
    return _told(arguments, {**found, "changed": made.changed, "generation": made.generation.number})


def _is_callers(folder: Path, name: str) -> bool:
    """Return whether a folder belongs to the Unix account of the caller, and not to one that all users share."""
    try:
        owner = folder.stat().st_uid
        return owner == os.geteuid() and pwd.getpwuid(owner).pw_name == name
    except (OSError, KeyError):
        return False


def _told(arguments: argparse.Namespace, found: dict[str, Any]) -> int:
    name = found["environment"] or arguments.name
    if not found["draft"]:
        said = f"{name} has no draft"
    elif not found["mine"]:
        said = f"the draft of {name} is somebody else's"
    elif not found["changed"]:
        said = f"the draft of {name} has no changes"
    elif found["generation"] is None:
        said = f"the draft of {name} has changes; `haienv freeze {name}` makes a generation of them"
    else:
        said = f"froze the draft of {name} as {name}@{found['generation']}"
    return answer(arguments, found, said)
