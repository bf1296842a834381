"""`hai admin user show|archive|restore`: users as the scheduler knows them."""

from __future__ import annotations

import argparse
from typing import Any

from hai_client.cli.platform.oversight import audit_table
from hai_client.cli.platform.quota import own_table
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, ago, plural
from hai_client.cli.shared.parser import leaf, option
from hai_client.wire.people import User, UserDetail


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin user` that ask the scheduler."""
    showing = leaf(verbs, "show", "show the tasks and quota of a user, and what was changed about them", _show)
    archiving = leaf(
        verbs,
        "archive",
        "stop a user's tasks after a notice, and let them use nothing until they are restored",
        _archive,
    )
    option(archiving, "--note TEXT", "reason, for other admins", default="")
    restoring = leaf(verbs, "restore", "let an archived user use the platform again", _restore)
    for one in (showing, archiving, restoring):
        option(one, "name NAME", "name of the user")


def list_archived(ctx: Context) -> int:
    """Write the archived users as a table."""
    found = list(ctx.client.users(archived=True))
    if ctx.listed(found, "none: no user is archived"):
        return 0
    ctx.out.table(
        "NAME  ARCHIVED  BY  LAST SEEN  NOTE",
        [row for user in found if (row := _archived_row(user)) is not None],
    )
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


def _show(args: argparse.Namespace, ctx: Context) -> None:
    user = ctx.client.user(args.name)
    if ctx.answered(user):
        return
    _facts(user, ctx)
    if user.quota:
        own_table(ctx.out, user.quota)
    if user.audit:
        ctx.out.line()
        audit_table(ctx.out, user.audit)


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


def _archive(args: argparse.Namespace, ctx: Context) -> None:
    done = ctx.client.archive_user(args.name, note=args.note)
    if ctx.answered(done):
        return
    tasks = f"{plural(done.stopped, 'task')} of theirs are told to save and are then stopped"
    one = "one task of theirs is told to save and is then stopped"
    what = "none of their tasks was live" if not done.stopped else one if done.stopped == 1 else tasks
    ctx.out.line(f"{done.name} is archived: {what}; `hai admin user restore {done.name}` brings them back")


def _restore(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.restore_user(args.name)
    ctx.answer({"restored": args.name}, f"{args.name} may use the platform again; tasks that were stopped stay stopped")
