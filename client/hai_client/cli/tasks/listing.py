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
from hai_client.cli.shared.parser import Command, option
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
    option(parser, "-a, --all", "show ended tasks, too")
    option(parser, "--state STATES", "show tasks in these states, with commas: running,failed", states)
    whose = parser.add_mutually_exclusive_group()
    option(whose, "--user USER", "show tasks of this user (for admins)")
    option(whose, "--all-users", "show tasks of all users (for admins)")
    option(parser, "--name NAME", "show tasks with this text in the name")
    option(parser, "--tag TAG", "show tasks with this tag (`hai tag`)")
    option(parser, "--text TEXT", "show tasks with this text in name, user or a tag, or with this number")
    option(parser, "--starred", "only those that you have starred")
    option(parser, "--sort KEY", f"in the order of {', '.join(_KEYS)} (default: id)", choices=_KEYS)
    option(parser, "--rising", "sort from the smallest to the greatest")
    option(parser, "-n, --limit N", f"at most N (default: {_LIMIT})", words_.count("limit"), default=_LIMIT)


def _list(args: argparse.Namespace, ctx: Context) -> None:
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
    if ctx.answered({"items": found}):
        return
    _note_standstill(ctx)
    others = args.all_users or args.user is not None
    if not found:
        if everything or args.state:
            ctx.out.line(none_like_that(others=others) if args.state or chosen else _none(others=others))
        else:
            ctx.out.line(_none_unfinished(others=others))
        return
    columns = [Column("ID", right=True), Column(heading("Name")), *([Column(heading("User"))] if others else [])]
    columns += [Column(heading("State")), Column(heading("Priority")), Column(heading("Nodes"), right=True)]
    columns += [Column(heading("Age"), right=True, optional=True), Column(heading("Ran"), right=True, optional=True)]
    columns += [Column(heading("Now"))]
    now = datetime.now(UTC)
    ctx.out.table(columns, [_row(task, others, now) for task in found])
    if len(found) == args.limit:
        ctx.out.note(say("shown are the latest %1; -n %2 shows more", args.limit, args.limit * 4))


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


def _status(args: argparse.Namespace, ctx: Context) -> None:
    task = ctx.client.task(args.task)
    if ctx.answered(task):
        return
    if task.state not in constants.ENDED_STATES:
        _note_standstill(ctx)
    view.screen(ctx.out, task)


def _explain(args: argparse.Namespace, ctx: Context) -> None:
    found = ctx.client.explain(args.task)
    if ctx.answered(found):
        return
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


def _describe(args: argparse.Namespace, ctx: Context) -> None:
    request = request_of(ctx.client.task(args.task))
    ctx.answer(request, "\n".join(view.yaml_lines(_said(request))))


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
