"""`hai notify`: what you are told of your tasks, and where; a test of it; and what you were told."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column, local
from hai_client.cli.shared.parser import Command
from hai_client.durations import format_duration
from hai_client.errors import Invalid
from hai_client.wire.notifications import Notification, NotificationRules

#: Seconds that a test is waited for, and between two looks.
WAIT_S = 15.0
LOOK_S = 0.5

_MEANINGS = {
    "started": "a task begins its first run",
    "resumed": "a task goes on after an interruption",
    "interrupted": "a task must leave its nodes, or was interrupted",
    "ended": "a task has ended and did not fail",
    "failed": "a task has failed, with its last lines",
    "waiting": "a task waits for longer than {}",
    "gpus_idle": "GPUs of a task are idle for 30 or 60 minutes",
    "environment_built": "an environment is built",
}


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(handler=_show)
    words.add_common(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")

    def verb(name: str, about: str, handler: Callable[[argparse.Namespace, Context], int]) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=about, description=about, allow_abbrev=False)
        made.set_defaults(handler=handler)
        words.add_common(made)
        return made

    verb("show", "show what you are told, and where", _show)
    setting = verb("set", "change what you are told, and where", _set)
    setting.add_argument(
        "kinds",
        metavar="KIND",
        nargs="?",
        type=_listed,
        help="kinds of events, as `hai notify` shows them, with commas; or all",
    )
    setting.add_argument(
        "channels",
        metavar="CHANNEL",
        nargs="?",
        type=_listed,
        help="channels: lab, browser, mail, webhook, sink:NAME, with commas; or none",
    )
    mail = setting.add_mutually_exclusive_group()
    mail.add_argument("--mail", metavar="ADDRESS", help="the address that mail goes to")
    mail.add_argument("--no-mail", action="store_true", help="remove the address for mail")
    hook = setting.add_mutually_exclusive_group()
    hook.add_argument("--webhook", metavar="URL", help="the address of your webhook, https://...")
    hook.add_argument("--no-webhook", action="store_true", help="remove the webhook and its key")
    setting.add_argument("--new-secret", action="store_true", help="make a new key for the webhook; it is shown once")
    setting.add_argument(
        "--waits-longer",
        metavar="TIME",
        type=words.duration("waits-longer", least_s=60),
        help="how long a task waits before you are told, such as 30m",
    )
    testing = verb("test", "send a test, and say what came of it", _test)
    testing.add_argument(
        "channels", metavar="CHANNEL", nargs="?", type=_listed, help="channels, with commas (all that you can use)"
    )
    listing = verb("list", "list what you were told in the last seven days", _list)
    listing.add_argument("--unread", action="store_true", help="show unread notifications only")
    listing.add_argument("--read", action="store_true", help="mark all as read")
    listing.add_argument(
        "-n", "--limit", metavar="N", type=words.count("limit"), default=20, help="show the newest N notifications (20)"
    )


def _notify(args: argparse.Namespace, ctx: Context) -> int:
    handler: Callable[[argparse.Namespace, Context], int] = args.handler
    return handler(args, ctx)


def _listed(text: str) -> list[str]:
    """Read names with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _show(_args: argparse.Namespace, ctx: Context) -> int:
    rules = ctx.client.notification_rules()
    if ctx.json:
        ctx.out.json(rules)
        return 0
    _table(ctx, rules)
    return 0


def _table(ctx: Context, rules: NotificationRules) -> None:
    waits = format_duration(rules.waits_longer_s)
    ctx.out.table(
        [Column("KIND"), Column("TOLD OVER"), Column("WHEN", optional=True)],
        [
            [rule.kind, ", ".join(rule.channels) or "-", _MEANINGS.get(rule.kind, "").format(waits)]
            for rule in rules.rules
        ],
    )
    ctx.out.line()
    ctx.out.line(f"mail      {rules.mail or '-'}")
    ctx.out.line(f"webhook   {rules.webhook or '-'}")
    sinks = [one.name for one in rules.channels if one.name.startswith("sink:") and one.missing is None]
    ctx.out.line(f"sinks     {', '.join(sinks) or '-'}")
    used = {channel for rule in rules.rules for channel in rule.channels}
    for channel in rules.channels:
        if channel.missing and channel.name in used:
            ctx.out.note(f"{channel.name}: {channel.missing}")
        if channel.error:
            when = f" ({local(channel.error_at)})" if channel.error_at else ""
            ctx.out.note(f"{channel.name}: a message was not delivered: {channel.error}{when}")


def _set(args: argparse.Namespace, ctx: Context) -> int:
    if args.kinds is not None and args.channels is None:
        raise Invalid(
            f"channel: say where, for example `hai notify set {','.join(args.kinds)} lab,mail`; none is nowhere"
        )
    before = ctx.client.notification_rules()
    chosen = {}
    if args.kinds is not None:
        kinds = [rule.kind for rule in before.rules] if args.kinds == ["all"] else args.kinds
        chosen = {kind: [] if args.channels == ["none"] else args.channels for kind in kinds}
    after = ctx.client.set_notification_rules(
        rules=chosen,
        waits_longer_s=before.waits_longer_s if args.waits_longer is None else args.waits_longer,
        mail=None if args.no_mail else args.mail or before.mail,
        webhook=None if args.no_webhook else args.webhook or before.webhook,
        new_secret=args.new_secret,
    )
    if ctx.json:
        ctx.out.json(after)
        return 0
    _table(ctx, after)
    if after.webhook_secret:
        ctx.out.line()
        ctx.out.line(f"key of the webhook: {after.webhook_secret}")
        ctx.out.note("This key is shown once. Your receiver checks signatures with it (Standard Webhooks).")
    return 0


def _test(args: argparse.Namespace, ctx: Context) -> int:
    test = ctx.client.test_notifications(args.channels)
    until = time.monotonic() + WAIT_S
    found = test
    while not (found.deliveries and all(one.state != "pending" or one.error for one in found.deliveries)):
        if time.monotonic() > until:
            break
        time.sleep(LOOK_S)
        page = ctx.client.notifications(before=test.id + 1, limit=1)
        found = next((one for one in page.items if one.id == test.id), found)
    if ctx.json:
        ctx.out.json(found)
    else:
        _told(ctx, found)
    return 0 if found.deliveries and all(one.state == "sent" for one in found.deliveries) else 1


def _told(ctx: Context, test: Notification) -> None:
    if not test.deliveries:
        ctx.out.note("nothing has been sent yet: the scheduler may be away; `hai notify list` shows what comes of it")
    for one in test.deliveries:
        name = "JupyterLab and browser" if one.channel == "feed" else one.channel
        if one.state == "sent":
            ctx.out.line(f"{name}: sent")
        elif one.state == "given_up":
            ctx.out.line(f"{name}: given up: {one.error}")
        else:
            ctx.out.line(f"{name}: not sent yet" + (f": {one.error}; it is tried again" if one.error else ""))


def _list(args: argparse.Namespace, ctx: Context) -> int:
    page = ctx.client.notifications(limit=min(200, args.limit), unread=args.unread)
    if ctx.json:
        ctx.out.json(page)
    elif not page.items:
        ctx.out.line("nothing" if args.unread else "nothing in the last seven days")
    else:
        ctx.out.table(
            [Column("WHEN"), Column("KIND", optional=True), Column("TEXT", whole=True)],
            [[local(one.at), one.kind, Cell(one.text, None if one.read else "bold")] for one in page.items],
        )
    if args.read and page.items:
        ctx.client.mark_notifications_read(page.items[0].id)
    return 0


COMMANDS = {
    "notify": Command(
        "notify",
        _configure,
        _notify,
        about=(
            "Show what you are told of your tasks, and where: in JupyterLab, by the browser, by mail, by a webhook of\n"
            "yours, or over a sink that an admin has set up."
        ),
        examples=(
            "examples:\n"
            "  hai notify\n"
            "  hai notify set failed,interrupted lab,browser,mail --mail ann@example.org\n"
            "  hai notify set waiting mail --waits-longer 2h\n"
            "  hai notify set ended none\n"
            "  hai notify set all lab,webhook --webhook https://hooks.example.org/hai\n"
            "  hai notify test mail"
        ),
    )
}
