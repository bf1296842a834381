"""The verbs of drafts: `draft` and `freeze`."""

from __future__ import annotations

import argparse
from typing import Any

from haienv.building import drafts
from haienv.cli.building import built
from haienv.cli.parser import add_name, add_verb
from haienv.cli.session import answer, note, own
from haienv.shared.errors import Missing
from haienv.store import manifest as manifests


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    draft = add_verb(verbs, "draft", "open a copy of an environment to change with pip or uv", _draft, writes=True)
    add_name(draft)
    draft.add_argument("--discard", action="store_true", help="remove the draft and what was changed in it")
    freeze = add_verb(verbs, "freeze", "make a generation of the draft", _freeze, writes=True)
    add_name(freeze)


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
    env = own(arguments)
    if not env.draft.is_dir():
        raise Missing(f"draft: {env.name} has none; `haienv draft {env.name}` opens one")
    origin = int((env.draft / "from").read_text(encoding="ascii"))
    before = manifests.read(env.generation(origin).manifest)
    return built(arguments, env, drafts.freeze(env, say=note).generation, before)
