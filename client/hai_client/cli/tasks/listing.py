"""`hai list`, `status`, `explain` and `describe`: show tasks and their states."""

from __future__ import annotations

import argparse
import dataclasses
from datetime import datetime
from typing import Any

from hai_client import constants
from hai_client.backports import UTC
from hai_client.cli.language.catalogue import heading, label, label_in, say, sentences
from hai_client.cli.language.words import duration, gpus, state_word
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import STATE_STYLES, Cell, Column, local_times
from hai_client.cli.shared.parser import Command
from hai_client.cli.tasks import view
from hai_client.codec import encode
from hai_client.errors import HaiError, Invalid
from hai_client.wire.schema import SnapshotIn, Task, TaskRequest, TaskSummary

_LIMIT = 50
#: What a list can be in the order of.
_KEYS = ("id", "name", "user", "group", "state", "priority", "nodes", "ended", "ran")


def states(text: str) -> str:
    """Read states, separated by commas."""
    known = (*constants.TASK_STATES, "live")
    wanted = [word.strip().lower() for word in text.split(",") if word.strip()]
    for word in wanted or [text]:
        if word not in known:
            raise Invalid(f"state: {word!r} is not a state; use {', '.join(known)}")
    return ",".join(wanted)


def _configure_list(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-a", "--all", action="store_true", help="show ended tasks, too")
    add("--state", type=states, metavar="STATES", help="show tasks in these states, with commas: running,failed")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--user", metavar="USER", help="show tasks of this user (for admins)")
    whose.add_argument("--all-users", action="store_true", help="show tasks of all users (for admins)")
    add("--name", metavar="NAME", help="show tasks with this text in the name")
    add("--tag", metavar="TAG", help="show tasks with this tag (`hai tag`)")
    add("--text", metavar="TEXT", help="show tasks with this text in name, user or a tag, or with this number")
    add("--starred", action="store_true", help="only those that you have starred")
    add("--sort", metavar="KEY", choices=_KEYS, help=f"in the order of {', '.join(_KEYS)} (default: id)")
    add("--rising", action="store_true", help="sort from the smallest to the greatest")
    add("-n", "--limit", type=words_.count("limit"), default=_LIMIT, metavar="N", help=f"at most N (default: {_LIMIT})")


def _list(args: argparse.Namespace, ctx: Context) -> int:
    chosen = args.name is not None or args.tag is not None or args.text is not None or args.starred
    everything = args.all or chosen
    found = list(
        ctx.client.tasks(
            user="*" if args.all_users else args.user,
            state=args.state or (None if everything else "live"),
            name=args.name,
            text=args.text,
            tag=args.tag,
            starred=args.starred,
            sort=args.sort,
            order="rising" if args.rising else None,
            limit=args.limit,
            told=None if ctx.json else ctx.out.note,
        )
    )
    if ctx.json:
        ctx.out.json({"items": found})
        return 0
    _note_standstill(ctx)
    others = args.all_users or args.user is not None
    if not found:
        if everything or args.state:
            ctx.out.line(none_like_that(others=others) if args.state or chosen else _none(others=others))
        else:
            ctx.out.line(_none_unfinished(others=others))
        return 0
    columns = [Column("ID", right=True), Column(heading("Name")), *([Column(heading("User"))] if others else [])]
    columns += [Column(heading("State")), Column(heading("Priority")), Column(heading("Nodes"), right=True)]
    columns += [Column(heading("Age"), right=True, optional=True), Column(heading("Ran"), right=True, optional=True)]
    columns += [Column(heading("Now"))]
    now = datetime.now(UTC)
    ctx.out.table(columns, [_row(task, others, now) for task in found])
    if len(found) == args.limit:
        ctx.out.note(say("shown are the latest %1; -n %2 shows more", args.limit, args.limit * 4))
    return 0


def none_like_that(*, others: bool) -> str:
    """Return the sentence for a filter that nothing passes."""
    return say("no task is like that") if others else say("no task of yours is like that")


def _none(*, others: bool) -> str:
    return say("there is no task") if others else say("there is no task of yours")


def _none_unfinished(*, others: bool) -> str:
    if others:
        return say("no unfinished task; `hai list -a` shows those that have ended")
    return say("no unfinished task of yours; `hai list -a` shows those that have ended")


def _note_standstill(ctx: Context) -> None:
    """Say that the scheduler decides nothing now, if so: what is known of waiting tasks is old then."""
    try:
        health = ctx.client.health()
    except HaiError:
        # The tasks are there, and are worth more than a remark on them.
        return
    if not health.deciding:
        ctx.out.note(sentences(say("nothing starts now, and running tasks go on."), health.detail))


def _row(task: TaskSummary, others: bool, now: datetime) -> list[Cell | str]:
    return [
        str(task.id),
        Cell(task.name, "bold"),
        *([task.user] if others else []),
        Cell(view.state(task), STATE_STYLES.get(task.state)),
        task.effective_priority or task.priority,
        str(task.nodes) if task.gpus is None else f"{task.nodes} x {gpus(task.gpus)}",
        duration((now - task.submitted_at).total_seconds()),
        duration(task.served_s) if task.served_s else "-",
        view.now(task),
    ]


def _one(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser)


def _status(args: argparse.Namespace, ctx: Context) -> int:
    task = ctx.client.task(args.task)
    if ctx.json:
        ctx.out.json(task)
        return 0
    if task.state not in constants.ENDED_STATES:
        _note_standstill(ctx)
    view.screen(ctx.out, task)
    return 0


def _explain(args: argparse.Namespace, ctx: Context) -> int:
    found = ctx.client.explain(args.task)
    if ctx.json:
        ctx.out.json(found)
        return 0
    if found.state not in constants.ENDED_STATES:
        _note_standstill(ctx)
    subject = say("task %1", found.task_id)
    view.write_sentence(ctx.out, view.told_of(subject, state_word(found.state), found.sentence))
    if found.verdict is not None:
        view.verdict(ctx.out, found.verdict, None)
    view.facts(ctx.out, ((label("Budget"), sentence) for sentence in found.budgets))
    if found.share is not None:
        view.facts(ctx.out, [(label_in("part of all", "Share"), found.share.sentence)])
    view.facts(ctx.out, ((label("What if"), local_times(change.sentence)) for change in found.what_if))
    return 0


def _describe(args: argparse.Namespace, ctx: Context) -> int:
    request = request_of(ctx.client.task(args.task))
    if ctx.json:
        ctx.out.json(request)
    else:
        ctx.out.line("\n".join(view.yaml_lines(_said(request))))
    return 0


def _said(request: TaskRequest) -> dict[str, Any]:
    """Return the request as plain data; the fields on retries are left out if the task has no retries."""
    retrying = request.retries > 0
    return {name: value for name, value in encode(request).items() if retrying or not name.startswith("retr")}


#: Fields of a request that a task has not, or has under another name or type.
_NOT_SHOWN_ALIKE = {"hold", "environment", "env_latest", "snapshot", "take_snapshot"}


def request_of(task: Task) -> TaskRequest:
    """Return the request from which a task was made."""
    known = {field.name for field in dataclasses.fields(TaskRequest)} - _NOT_SHOWN_ALIKE
    pin = task.haienv
    if pin is None:
        environment, latest = task.environment, False
    else:
        environment, latest = (pin.name if pin.latest else f"{pin.name}@{pin.generation}"), pin.latest
    asked = {name: getattr(task, name) for name in known}
    code = task.snapshot
    snapshot = None if code is None else SnapshotIn(digest=code.digest, commit=code.commit, dirty=code.dirty)
    return TaskRequest(**asked, hold=task.held, environment=environment, env_latest=latest, snapshot=snapshot)


COMMANDS = {
    "list": Command("list", _configure_list, _list, about="List tasks, newest first: yours that have not ended."),
    "status": Command("status", _one, _status, about="Show where a task stands, why, and its runs so far."),
    "explain": Command("explain", _one, _explain, about="Say why a task waits, and what would let it start."),
    "describe": Command("describe", _one, _describe, about="Show what was submitted, as YAML."),
}
