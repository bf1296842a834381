"""`hai tag` and `hai star`: words and marks on tasks, by which they are found again."""

from __future__ import annotations

import argparse

from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import clean
from hai_client.cli.shared.parser import Command, option
from hai_client.errors import Invalid
from hai_client.wire.schema import Task


def _configure_tag(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser)
    option(parser, "tags TAG", "tags to add; without any, the tags of the task are shown", nargs="*")
    option(parser, "--remove TAG ...", "a tag to take away; repeatable")
    option(parser, "--clear", "remove all tags first")


def _tag(args: argparse.Namespace, ctx: Context) -> None:
    both = sorted({*args.tags} & {*args.remove})
    if both:
        raise Invalid(f"remove: {both[0]!r} is to be added as well; do one of the two")
    task = ctx.client.task(args.task)
    kept = [] if args.clear else [tag for tag in task.tags if tag not in args.remove]
    wanted = list(dict.fromkeys([*kept, *args.tags]))
    if args.tags or args.remove or args.clear:
        task = ctx.client.set_tags(task.id, wanted)
    _show(ctx, task)


def _configure_star(parser: argparse.ArgumentParser) -> None:
    words_.add_tasks(parser)
    option(parser, "--remove", "remove your star")


def _star(args: argparse.Namespace, ctx: Context) -> None:
    task = ctx.client.set_star(args.task, starred=not args.remove)
    if not ctx.answered(task):
        does = "has your star" if task.starred else "has no star of yours"
        ctx.out.line(f"{ctx.out.style(clean(task.name), 'bold')} (task {task.id}) {does}")


def _show(ctx: Context, task: Task) -> None:
    if ctx.json:
        ctx.out.json(task)
        return
    tags = ", ".join(clean(tag) for tag in task.tags) or "no tags"
    ctx.out.line(f"{ctx.out.style(clean(task.name), 'bold')} (task {task.id}): {tags}")


COMMANDS = {
    "tag": Command(
        "tag",
        _configure_tag,
        _tag,
        about="Show, add or take away the tags of a task. `hai list --tag TAG` lists the tasks with one.",
        examples="examples:\n  hai tag digits sweep lr-1e-3\n  hai tag digits --remove sweep\n  hai list --tag sweep",
    ),
    "star": Command(
        "star",
        _configure_star,
        _star,
        about="Star a task, for yourself alone. `hai list --starred` lists those that you have starred.",
    ),
}
