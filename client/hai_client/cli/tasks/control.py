"""`hai stop`, `suspend`, `resume`, `hold` and `priority`: change tasks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Callable

from hai_client.api import Client
from hai_client.cli.language.catalogue import is_english
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.complaints import complain
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import STATE_STYLES, clean, local_times
from hai_client.cli.shared.parser import Command, option
from hai_client.cli.tasks import view
from hai_client.cli.tasks.listing import none_like_that, states
from hai_client.errors import Conflict, HaiError, Invalid, NotFound, QuotaExceeded
from hai_client.wire.schema import Task

_Act = Callable[[Client, str], Task]
#: Errors that concern one task only: the command goes on with the next task.
_OF_ONE_TASK = (Conflict, NotFound, QuotaExceeded)


def each(ctx: Context, keys: Sequence[str], act: _Act) -> int:
    """Apply an action to each task, print the result of each, and return the exit status of the first failure."""
    done: list[Task] = []
    code = 0
    for key in keys:
        try:
            task = act(ctx.client, key)
        except _OF_ONE_TASK as error:
            code = code or error.exit_code
            complain(ctx.out, _named(key, error), code)
            continue
        done.append(task)
        if not ctx.json:
            _tell(ctx, task)
    if ctx.json:
        ctx.out.json({"items": done})
    return code


def _named(key: str, error: HaiError) -> str:
    return error.message if key in error.message else f"{key}: {error.message}"


def _tell(ctx: Context, task: Task) -> None:
    why = clean(local_times(task.message))
    state = view.state(task)
    name = view.named(task.id, ctx.out.style(clean(task.name), "bold"))
    styled = ctx.out.style(state, STATE_STYLES.get(task.state))
    if not is_english():
        ctx.out.line(view.told_of(name, state, why).replace(state, styled, 1))
        return
    verb, rest = view.standing(state, why).split(" ", 1)
    ctx.out.line(f"{name} {verb} {styled}{rest[len(state) :]}")


def _many(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser, many=True)
    option(parser, "--tag TAG", "in place of TASK: all of your unfinished tasks with this tag")
    option(parser, "--text TEXT", "in place of TASK: those with this text in name or a tag")
    option(parser, "--state STATES", "in place of TASK: those in these states, with commas: queued,running", states)
    option(parser, "--starred", "in place of TASK: those that you have starred")


def _run(act: _Act, args: argparse.Namespace, ctx: Context) -> int:
    if args.tasks and (args.tag or args.text or args.state or args.starred):
        raise Invalid(
            f"task: {args.tasks[0]!r} is named beside --tag and the like, which choose tasks; do one of the two"
        )
    return each(ctx, args.tasks or _chosen(args, ctx), act)


def _chosen(args: argparse.Namespace, ctx: Context) -> list[str]:
    """Return the ids of the tasks that the options choose. Raises Invalid."""
    wanted = {name: getattr(args, name) for name in ("tag", "text", "state", "starred")}
    if not any(wanted.values()):
        raise Invalid("task: missing; name one or more, or choose them with --tag, --text, --state or --starred")
    wanted["state"] = wanted["state"] or "live"
    # The whole list is read before the first of them is changed.
    found = [str(task.id) for task in ctx.client.tasks(**wanted)]
    if not found and not ctx.json:
        ctx.out.line(none_like_that(others=False))
    return found


def _configure_priority(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser)
    words_.add_priority(parser, "priority", help_="a level, its number, or AUTO")


def _priority(args: argparse.Namespace, ctx: Context) -> int:
    return each(ctx, [args.task], lambda client, key: client.set_priority(key, args.priority))


COMMANDS = {
    "stop": Command(
        "stop",
        _many,
        partial(_run, Client.stop),
        about="End tasks for good. A running one is told, and may save first.",
        examples="examples:\n  hai stop digits 41\n  hai stop --tag sweep\n  hai stop --state queued --text lr-1e-3",
    ),
    "suspend": Command(
        "suspend",
        _many,
        partial(_run, Client.suspend),
        about="Take the nodes of tasks now, with time to save, and keep them waiting until `hai resume`.",
    ),
    "resume": Command(
        "resume",
        _many,
        partial(_run, Client.resume),
        about="Let held or suspended tasks run again, when their turn comes.",
    ),
    "hold": Command(
        "hold",
        _many,
        partial(_run, Client.hold),
        about="Do not start tasks (again) until `hai resume`. What runs now goes on.",
    ),
    "priority": Command(
        "priority",
        _configure_priority,
        _priority,
        about="Change the priority of a task: LOW, BELOW_NORMAL, NORMAL, ABOVE_NORMAL, HIGH, VERY_HIGH, EXTREME_HIGH.",
        examples="example:\n  hai priority digits HIGH",
    ),
}
