"""The verbs `share` and `unshare`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from haienv.cli.parser import add_verb
from haienv.cli.session import answer, registry
from haienv.keeping import sharing
from haienv.shared.errors import Wrong
from haienv.store import names


def add_verbs(verbs: Any) -> None:
    """Add the verbs."""
    share = add_verb(verbs, "share", "let others use an environment; they cannot change it", _share)
    unshare = add_verb(verbs, "unshare", "let others use an environment no longer", _unshare)
    for verb in (share, unshare):
        verb.add_argument("name", metavar="NAME", help="the environment")
        verb.add_argument("--group", metavar="GROUP", action="append", default=[], help="a Unix group; can be repeated")
        verb.add_argument("--user", metavar="USER", action="append", default=[], help="a Unix account; can be repeated")
        verb.add_argument("--all", action="store_true", help="everybody")


def _share(arguments: argparse.Namespace) -> int:
    return _change(arguments, take=False)


def _unshare(arguments: argparse.Namespace) -> int:
    return _change(arguments, take=True)


def _change(arguments: argparse.Namespace, *, take: bool) -> int:
    env = registry().own(names.parse(arguments.name))
    if not (arguments.group or arguments.user or arguments.all):
        raise Wrong(
            f"share: nobody is named; write --group GROUP, --user USER or --all: haienv share {arguments.name} --all"
        )
    now = sharing.share(env, groups=arguments.group, users=arguments.user, everyone=arguments.all, take=take)
    whom = [*(f"group {one}" for one in now.groups), *(f"user {one}" for one in now.users)]
    said = "everybody" if now.everyone else ", ".join(whom) or "nobody but its owner"
    return answer(arguments, {"environment": str(env.name), **asdict(now)}, f"{env.name} can be used by {said}")
