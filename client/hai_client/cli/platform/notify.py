"""`hai notify`: what you are told of your tasks, and where; a test of it; and what you were told."""

from __future__ import annotations

import argparse
import time

from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, local
from hai_client.cli.shared.parser import Command, leaf, option, run_leaf
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
    leaf(verbs, "show", "show what you are told, and where", _show)
    setting = leaf(verbs, "set", "change what you are told, and where", _set)
    option(
        setting, "kinds KIND", "kinds of events, as `hai notify` shows them, with commas; or all", _listed, nargs="?"
    )
    option(
        setting,
        "channels CHANNEL",
        "channels: lab, browser, mail, webhook, sink:NAME, with commas; or none",
        _listed,
        nargs="?",
    )
    mail = setting.add_mutually_exclusive_group()
    option(mail, "--mail ADDRESS", "the address that mail goes to")
    option(mail, "--no-mail", "remove the address for mail")
    hook = setting.add_mutually_exclusive_group()
    option(hook, "--webhook URL", "the address of your webhook, https://...")
    option(hook, "--no-webhook", "remove the webhook and its key")
    option(setting, "--new-secret", "make a new key for the webhook; it is shown once")
    option(
        setting,
        "--waits-longer TIME",
        "how long a task waits before you are told, such as 30m",
        words.duration("waits-longer", least_s=60),
    )
    testing = leaf(verbs, "test", "send a test, and say what came of it", _test)
    option(testing, "channels CHANNEL", "channels, with commas (all that you can use)", _listed, nargs="?")
    listing = leaf(verbs, "list", "list what you were told in the last seven days", _list)
    option(listing, "--unread", "show unread notifications only")
    option(listing, "--read", "mark all as read")
    option(listing, "-n, --limit N", "show the newest N notifications (20)", words.count("limit"), default=20)


def _listed(text: str) -> list[str]:
    """Read names with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _show(_args: argparse.Namespace, ctx: Context) -> None:
    rules = ctx.client.notification_rules()
    if ctx.answered(rules):
        return
    _table(ctx, rules)


def _table(ctx: Context, rules: NotificationRules) -> None:
    waits = format_duration(rules.waits_longer_s)
    ctx.out.table(
        "KIND  TOLD OVER  WHEN?",
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


def _set(args: argparse.Namespace, ctx: Context) -> None:
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
    if ctx.answered(after):
        return
    _table(ctx, after)
    if after.webhook_secret:
        ctx.out.line()
        ctx.out.line(f"key of the webhook: {after.webhook_secret}")
        ctx.out.note("This key is shown once. Your receiver checks signatures with it (Standard Webhooks).")


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
    if not ctx.answered(found):
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


def _list(args: argparse.Namespace, ctx: Context) -> None:
    page = ctx.client.notifications(limit=min(200, args.limit), unread=args.unread)
    if ctx.json:
        ctx.out.json(page)
    elif not page.items:
        ctx.out.line("nothing" if args.unread else "nothing in the last seven days")
    else:
        ctx.out.table(
            "WHEN  KIND?  TEXT...",
            [[local(one.at), one.kind, Cell(one.text, None if one.read else "bold")] for one in page.items],
        )
    if args.read and page.items:
        ctx.client.mark_notifications_read(page.items[0].id)


COMMANDS = {
    "notify": Command(
        "notify",
        _configure,
        run_leaf,
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
