"""`hai admin user show|archive|restore`: users as the scheduler knows them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from hai_client.cli.platform.oversight import audit_table
from hai_client.cli.platform.quota import limit, until
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column, ago, plural
from hai_client.wire.people import User, UserDetail


def configure_admin(verbs: Any, leaf: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the verbs of `hai admin user` that ask the scheduler; `leaf` makes one."""
    showing = leaf(verbs, "show", "show the tasks and quota of a user, and what was changed about them", _show)
    archiving = leaf(
        verbs,
        "archive",
        "stop a user's tasks after a notice, and let them use nothing until they are restored",
        _archive,
    )
    archiving.add_argument("--note", default="", metavar="TEXT", help="reason, for other admins")
    restoring = leaf(verbs, "restore", "let an archived user use the platform again", _restore)
    for one in (showing, archiving, restoring):
        one.add_argument("name", metavar="NAME", help="name of the user")


def list_archived(ctx: Context) -> int:
    """Write the archived users as a table."""
    found = list(ctx.client.users(archived=True))
    if ctx.json:
        ctx.out.json({"items": found})
        return 0
    if not found:
        ctx.out.line("none: no user is archived")
        return 0
    columns = [Column("NAME"), Column("ARCHIVED"), Column("BY"), Column("LAST SEEN"), Column("NOTE")]
    ctx.out.table(columns, [row for user in found if (row := _archived_row(user)) is not None])
    return 0


def _archived_row(user: User) -> list[Cell | str] | None:
    if user.archived is None:
        return None
    return [
        Cell(user.name, "bold"),
        ago(user.archived.at),
        user.archived.by,
        "never" if user.seen_at is None else ago(user.seen_at),
        user.archived.note or "-",
    ]


def _show(args: argparse.Namespace, ctx: Context) -> int:
    user = ctx.client.user(args.name)
    if ctx.json:
        ctx.out.json(user)
        return 0
    _facts(user, ctx)
    if user.quota:
        columns = [Column("GROUP"), Column("PRIORITY"), Column("IN USE", right=True), Column("LIMIT", right=True)]
        columns += [Column("CEILING", right=True), Column("UNTIL", optional=True), Column("DECIDED BY")]
        ctx.out.table(
            columns,
            [
                [
                    row.group,
                    row.priority,
                    f"{row.used:g}",
                    limit(row.limit),
                    "-" if row.ceiling is None else str(row.ceiling),
                    until(row.expires_at),
                    row.source,
                ]
                for row in user.quota
            ],
        )
    if user.audit:
        ctx.out.line()
        audit_table(ctx.out, user.audit)
    return 0


def _facts(user: UserDetail, ctx: Context) -> None:
    line = ctx.out.line
    line(f"{ctx.out.style(user.name, 'bold')}{', an admin' if user.admin else ''}")
    if user.archived is not None:
        note = f": {user.archived.note}" if user.archived.note else ""
        line(f"  archived  {ago(user.archived.at)} by {user.archived.by}{note}")
    line(f"  groups    {' '.join(user.groups) or 'none'}")
    line(f"  seen      {'never' if user.seen_at is None else ago(user.seen_at)}")
    running = f"{plural(user.running_tasks, 'task')} on {plural(user.running_nodes, 'node')}"
    waiting = f"{plural(user.waiting_tasks, 'task')} for {plural(user.waiting_nodes, 'node')}"
    line(f"  running   {running}")
    line(f"  waiting   {waiting}")


def _archive(args: argparse.Namespace, ctx: Context) -> int:
    done = ctx.client.archive_user(args.name, note=args.note)
    if ctx.json:
        ctx.out.json(done)
        return 0
    tasks = f"{plural(done.stopped, 'task')} of theirs are told to save and are then stopped"
    one = "one task of theirs is told to save and is then stopped"
    what = "none of their tasks was live" if not done.stopped else one if done.stopped == 1 else tasks
    ctx.out.line(f"{done.name} is archived: {what}; `hai admin user restore {done.name}` brings them back")
    return 0


def _restore(args: argparse.Namespace, ctx: Context) -> int:
    ctx.client.restore_user(args.name)
    if ctx.json:
        ctx.out.json({"restored": args.name})
    else:
        ctx.out.line(f"{args.name} may use the platform again; tasks that were stopped stay stopped")
    return 0
