"""`hai quota`: what one may use, and uses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hai_client.cli.context import Context
from hai_client.cli.output import Column, Output
from hai_client.cli.parser import Command
from hai_client.names import PRIORITIES
from hai_client.schema import OwnQuota, Quota


def _configure(_parser: argparse.ArgumentParser) -> None:
    pass


def _quota(_args: argparse.Namespace, ctx: Context) -> int:
    own = ctx.client.me().quota
    if ctx.json:
        ctx.out.json({"items": own})
    elif not own:
        ctx.out.line("you have no quota; an admin gives it with `hai admin quota set user:NAME PRIORITY LIMIT`")
    else:
        own_table(ctx.out, own)
    return 0


def limit(value: int | None) -> str:
    """A limit in words."""
    return "unlimited" if value is None else str(value)


def by_level(row: OwnQuota | Quota) -> tuple[str, int]:
    """Order of rows: by node group, highest level first."""
    return row.group, -PRIORITIES.get(row.priority, -1)


def own_table(out: Output, own: Sequence[OwnQuota]) -> None:
    """Write a user's own quota as a table."""
    columns = [Column("GROUP"), Column("PRIORITY"), Column("IN USE", right=True), Column("LIMIT", right=True)]
    rows = [[row.group, row.priority, str(row.used), limit(row.limit), row.source] for row in sorted(own, key=by_level)]
    out.table([*columns, Column("DECIDED BY")], rows)


COMMANDS = {
    "quota": Command(
        "quota", _configure, _quota, about="Show how many nodes you may hold at once at each priority, and hold."
    )
}
