"""`hai quota`: shows a user's quota and usage, and changes the user's own quota."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime

from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output, local
from hai_client.cli.shared.parser import Command, leaf, option, run_leaf
from hai_client.constants import PRIORITIES
from hai_client.wire.schema import OwnQuota, Quota


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(handler=_show)
    words.add_common(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    help_ = "raise or lower your own quota, up to the ceiling that an admin has set"
    setting = leaf(verbs, "set", help_, _set)
    option(setting, "priority LEVEL", "the priority it is for", words.level)
    option(setting, "limit N", "nodes that you may hold at once", words.count("limit", least=0))
    option(setting, "-g, --group GROUP", "node group (training)", default="training")


def _set(args: argparse.Namespace, ctx: Context) -> None:
    row = ctx.client.set_own_quota(args.priority, args.limit, group=args.group)
    ctx.answer(row, f"you may hold {limit(row.limit)} nodes of {row.group} at {row.priority}, and hold {row.used:g}")


def _show(_args: argparse.Namespace, ctx: Context) -> None:
    own = ctx.client.me().quota
    if not ctx.listed(own, "you have no quota; an admin gives it with `hai admin quota set user:NAME PRIORITY LIMIT`"):
        own_table(ctx.out, own)


def limit(value: int | None) -> str:
    """Return a limit in words."""
    return "unlimited" if value is None else str(value)


def by_level(row: OwnQuota | Quota) -> tuple[str, int]:
    """Return the sort key of a row: by node group, then highest level first."""
    return row.group, -PRIORITIES.get(row.priority, -1)


def own_table(out: Output, own: Sequence[OwnQuota]) -> None:
    """Write a user's own quota as a table."""
    rows = [
        [
            row.group,
            row.priority,
            f"{row.used:g}",
            limit(row.limit),
            "-" if row.ceiling is None else str(row.ceiling),
            until(row.expires_at),
            row.source,
        ]
        for row in sorted(own, key=by_level)
    ]
    out.table("GROUP  PRIORITY  >IN USE  >LIMIT  >CEILING  UNTIL?  DECIDED BY", rows)


def may_hold(user: str, groups: Sequence[str], rows: Sequence[Quota]) -> str:
    """Return a sentence with the quota of a user: their own row, else their groups' largest row, else `public`'s row.

    Args:
        user: The user's name.
        groups: The user's groups.
        rows: All rows of quota.
    """
    subjects = {"public": 0, **dict.fromkeys((f"group:{name}" for name in groups), 1), f"user:{user}": 2}
    counts: dict[tuple[str, str], tuple[int, float, Quota]] = {}
    for row in rows:
        if row.expired or row.subject not in subjects:
            continue
        place, rank = (row.group, row.priority), subjects[row.subject]
        room = float("inf") if row.limit is None else row.limit
        counts[place] = max(counts.get(place, (-1, 0.0, row)), (rank, room, row), key=lambda found: found[:2])
    levels: dict[tuple[str, int | None], list[str]] = {}
    for _, _, row in sorted(counts.values(), key=lambda found: by_level(found[2])):
        if row.limit != 0:
            levels.setdefault((row.group, row.limit), []).append(row.priority)
    if not levels:
        return f"{user} may hold no node yet: `hai admin quota set user:{user} NORMAL 4` gives some"
    parts = [f"{_nodes(most)} of {group} at {_levels(names)}" for (group, most), names in levels.items()]
    return f"{user} may hold {'; '.join(parts)}: `hai admin quota set user:{user} ...` changes that"


def _nodes(most: int | None) -> str:
    return "any number of nodes" if most is None else f"{most} node{'' if most == 1 else 's'}"


def _levels(names: Sequence[str]) -> str:
    if len(names) == len(PRIORITIES):
        return "every priority"
    return names[0] if len(names) == 1 else f"each of {', '.join(names)}"


def until(time: datetime | None) -> str:
    """Return when a row of quota expires."""
    return "-" if time is None else local(time)


COMMANDS = {
    "quota": Command(
        "quota",
        _configure,
        run_leaf,
        about=(
            "Show how many nodes you may hold at once at each priority, and hold. CEILING is up to what you may raise\n"
            "your limit yourself."
        ),
        examples="examples:\n  hai quota\n  hai quota set HIGH 8",
    )
}
