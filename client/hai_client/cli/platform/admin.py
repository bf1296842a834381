"""`hai admin`: nodes, quota, policy, rates, budgets, mounts, environments, orphaned runs, users, pauses, audit."""

from __future__ import annotations

import argparse
import shlex
from datetime import datetime, timedelta
from typing import Any, Callable

from hai_client.api import Client
from hai_client.backports import UTC
from hai_client.cli.platform import (
    costs,
    environments,
    mounts,
    node_preview,
    nodes,
    orphans,
    oversight,
    pausing,
    people,
    policy,
)
from hai_client.cli.platform.quota import by_level, limit, may_hold, until
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Column, ago
from hai_client.cli.shared.parser import Command
from hai_client.errors import Forbidden, HaiError, Invalid, NotFound
from hai_client.hub import Hub, HubPassword, HubUser
from hai_client.wire.schema import Node

_Handler = Callable[[argparse.Namespace, Context], int]
_Verbs = Any  # argparse gives the kind of add_subparsers() no public name.


def _leaf(group: _Verbs, name: str, help_: str, handler: _Handler) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = group.add_parser(name, help=help_, description=help_, allow_abbrev=False)
    parser.set_defaults(handler=handler)
    words_.add_common(parser)
    return parser


def _group(parent: argparse.ArgumentParser, dest: str) -> _Verbs:
    return parent.add_subparsers(dest=dest, metavar="VERB", required=True)


def _configure(parser: argparse.ArgumentParser) -> None:
    group = _group(parser, "verb")
    for name, help_ in (
        ("cordon", "start nothing new on nodes"),
        ("uncordon", "use nodes again"),
        ("drain", "start nothing new on nodes and ask what runs there to leave"),
    ):
        marking = _leaf(group, name, help_, _mark)
        marking.add_argument("nodes", metavar="NODE", nargs="+", help="names of nodes")
        if name != "uncordon":
            marking.add_argument(
                "--preview", action="store_true", help="say who would leave, go on where, and wait longer; do nothing"
            )
    pausing.configure_admin(group, _leaf)
    quota = _group(group.add_parser("quota", help="list, set or delete rows of quota"), "quota_verb")
    _leaf(quota, "list", "list all rows", _quota_list)
    setting = _leaf(quota, "set", "write a row", _quota_set)
    deleting = _leaf(quota, "delete", "remove a row", _quota_delete)
    for leaf in (setting, deleting):
        leaf.add_argument(
            "subject", metavar="SUBJECT", type=subject, help="user:NAME, group:NAME (each member), total:NAME or public"
        )
        leaf.add_argument("priority", metavar="LEVEL", type=words_.level, help="the priority it is for")
        leaf.add_argument("-g", "--group", default="training", metavar="GROUP", help="node group (training)")
    setting.add_argument(
        "limit", metavar="LIMIT", type=_limit, help="nodes that each may hold at once; `none`: no limit"
    )
    setting.add_argument(
        "--ceiling",
        metavar="N",
        type=words_.count("ceiling", least=0),
        help="most nodes to which users may raise their own row",
    )
    ends = setting.add_mutually_exclusive_group()
    ends.add_argument(
        "--until", metavar="TIME", type=_time, help="the row ends then: 2026-12-31 (at the end of that day) or a time"
    )
    ends.add_argument("--for", dest="lasts", metavar="LENGTH", type=_lasts, help="the row ends after this: 7d")
    changing = _group(group.add_parser("policy", help="change the scheduler's numbers"), "policy_verb")
    policy.configure_admin(changing, _leaf)
    prices = _group(group.add_parser("rates", help="list, set or delete what hours cost"), "rates_verb")
    costs.configure_rates(prices, _leaf)
    limits = _group(group.add_parser("budgets", help="list, set or delete budgets of user groups"), "budgets_verb")
    costs.configure_budgets(limits, _leaf)
    rules = _group(group.add_parser("mounts", help="list, set or remove mount rules"), "mounts_verb")
    mounts.configure_admin(rules, _leaf)
    named = _group(group.add_parser("environments", help="list, set or remove environments"), "environments_verb")
    environments.configure_admin(named, _leaf)
    strays = _group(group.add_parser("orphans", help="list or end runs that belong to no task"), "orphans_verb")
    orphans.configure_admin(strays, _leaf)
    about_users = "list, add, archive or restore users, make passwords for them, or erase them from the ledger"
    user = _group(group.add_parser("user", help=about_users), "user_verb")
    listing = _leaf(user, "list", "list all users", _user_list)
    listing.add_argument("--archived", action="store_true", help="show archived users, with the reason")
    people.configure_admin(user, _leaf)
    adding = _leaf(user, "add", "add a user", _user_add)
    adding.add_argument("name", metavar="NAME", help="the name that the user signs in with")
    adding.add_argument("--admin", action="store_true", help="an admin of the Hub")
    adding.add_argument("--token", action="store_true", help="make a token instead of a password and print it, once")
    erasing = _leaf(user, "erase", "take a user's name out of the ledger for good; all sums stay", _user_erase)
    erasing.add_argument("name", metavar="NAME", help="user whose password is removed; tasks and account stay")
    renewing = _leaf(user, "password", "make a new password for a user and print it, once", _user_password)
    renewing.add_argument("name", metavar="NAME", help="user who gets a new password; the old one ends")
    oversight.configure_admin(group, _leaf)


def subject(text: str) -> str:
    """Check the subject of a row of quota, and return it."""
    kind, colon, name = text.partition(":")
    if text == "public" or (kind in ("user", "group", "total") and colon and name):
        return text
    name = words_.name_in(text)
    raise Invalid(
        f"subject: {text!r} is not a subject; write user:{name}, group:{name} (each member), total:{name} (all members "
        "together) or public"
    )


def _time(text: str) -> datetime:
    """Read a time, or a day, which means its end; without an offset it is local time."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"until: {text!r} is not a time; write 2026-12-31 or 2026-12-31T18:00") from None
    if len(text) <= len("2026-12-31"):
        time += timedelta(days=1)
    return time.astimezone(UTC)


def _lasts(text: str) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=words_.duration("for", least_s=1)(text))


def _limit(text: str) -> int | None:
    if text.lower() in ("none", "unlimited", "no-limit"):
        return None
    try:
        return words_.count("limit", least=0)(text)
    except Invalid as error:
        raise Invalid(f"{error.message}, nor `none`") from None


def _run(args: argparse.Namespace, ctx: Context) -> int:
    handler: _Handler = args.handler
    return handler(args, ctx)


def _mark(args: argparse.Namespace, ctx: Context) -> int:
    if getattr(args, "preview", False):
        return node_preview.run(args, ctx)
    acts: dict[str, Callable[[Client, str], Node]] = {
        "cordon": Client.cordon,
        "uncordon": Client.uncordon,
        "drain": Client.drain,
    }
    done = [acts[args.verb](ctx.client, name) for name in args.nodes]
    if ctx.json:
        ctx.out.json({"items": done})
    else:
        nodes.table(ctx.out, done)
    return 0


def _quota_list(_args: argparse.Namespace, ctx: Context) -> int:
    rows = ctx.client.quotas()
    if ctx.json:
        ctx.out.json({"items": rows})
        return 0
    if not rows:
        ctx.out.line("no rows; `hai admin quota set public NORMAL 4` lets every user hold 4 nodes at NORMAL")
        return 0
    columns = [Column("SUBJECT"), Column("GROUP"), Column("PRIORITY"), Column("LIMIT", right=True)]
    columns += [Column("CEILING", right=True), Column("UNTIL")]
    ctx.out.table(
        columns,
        [
            [
                row.subject,
                row.group,
                row.priority,
                limit(row.limit),
                "-" if row.ceiling is None else str(row.ceiling),
                Cell(f"{until(row.expires_at)} (expired)", "dim") if row.expired else until(row.expires_at),
            ]
            for row in sorted(rows, key=lambda row: (row.subject, *by_level(row)))
        ],
    )
    return 0


def _quota_set(args: argparse.Namespace, ctx: Context) -> int:
    row = ctx.client.set_quota(
        args.subject,
        args.priority,
        args.limit,
        group=args.group,
        ceiling=args.ceiling,
        expires_at=args.until or args.lasts,
    )
    if row.warning is not None:
        ctx.out.note(row.warning)
    if ctx.json:
        ctx.out.json(row)
        return 0
    what = "any number of nodes" if row.limit is None else f"at most {row.limit} nodes"
    end = "" if row.expires_at is None else f" until {until(row.expires_at)}"
    ceiling = "" if row.ceiling is None else f"; users may raise their own row up to {row.ceiling}"
    ctx.out.line(f"{row.subject} may hold {what} of {row.group} at {row.priority}{end}{ceiling}")
    return 0


def _quota_delete(args: argparse.Namespace, ctx: Context) -> int:
    ctx.client.delete_quota(args.subject, args.priority, group=args.group)
    if ctx.json:
        ctx.out.json({"deleted": {"subject": args.subject, "group": args.group, "priority": args.priority}})
    else:
        ctx.out.line(f"{args.subject} has no row of its own any more for {args.group} at {args.priority}")
    return 0


def _user_erase(args: argparse.Namespace, ctx: Context) -> int:
    ctx.client.erase_from_ledger(args.name)
    if ctx.json:
        ctx.out.json({"erased": args.name})
    else:
        ctx.out.line(f"{args.name} is no longer named in the ledger; all sums are as before")
    return 0


def _user_list(args: argparse.Namespace, ctx: Context) -> int:
    if args.archived:
        return people.list_archived(ctx)
    users = list(Hub(ctx.settings(), waiting=ctx.waiting).users())
    if ctx.json:
        ctx.out.json({"items": users})
        return 0
    rows = [
        [
            Cell(user.name, "bold"),
            "yes" if user.admin else "-",
            ago(user.last_activity) if user.last_activity else "never",
            " ".join(user.groups) or "-",
        ]
        for user in users
    ]
    ctx.out.table([Column("NAME"), Column("HUB ADMIN"), Column("ACTIVE"), Column("GROUPS")], rows)
    return 0


def _user_add(args: argparse.Namespace, ctx: Context) -> int:
    hub = Hub(ctx.settings(), waiting=ctx.waiting)
    user = hub.add_user(args.name, admin=args.admin)
    if args.token:
        token = hub.make_token(user.name, note="hai admin user add").token
        if ctx.json:
            ctx.out.json({"user": user, "token": token})
            return 0
        ctx.out.note(f"{user.name} is added; the token is shown only now")
        ctx.out.line(token)
        _say_what_may_be_held(user, ctx)
        return 0
    try:
        made = hub.make_password(user.name)
    except (NotFound, Forbidden):
        # An admin who may add users may make passwords: this Hub has none, as users sign in in another way.
        made = None
    if ctx.json:
        ctx.out.json({"user": user, **({"password": made.password} if made else {})})
        return 0
    if made is None:
        ctx.out.line(f"{user.name} is added")
    else:
        _show(made, ctx, "is added")
    _say_what_may_be_held(user, ctx)
    return 0


def _say_what_may_be_held(user: HubUser, ctx: Context) -> None:
    try:
        ctx.out.note(may_hold(user.name, user.groups, ctx.client.quotas()))
    except HaiError as error:
        # Only note the error: the user has been added.
        ctx.out.note(f"what {user.name} may hold is not known now: {error.message}")


def _user_password(args: argparse.Namespace, ctx: Context) -> int:
    made = Hub(ctx.settings(), waiting=ctx.waiting).make_password(args.name)
    if ctx.json:
        ctx.out.json({"name": made.name, "password": made.password})
    else:
        _show(made, ctx, "has a new password")
    return 0


def _show(made: HubPassword, ctx: Context, what: str) -> None:
    url = ctx.settings().url
    ctx.out.note(
        f"{made.name} {what}, and logs in at {url} or with `hai login --url {url} --user {shlex.quote(made.name)}`; "
        "the password is shown only now"
    )
    if made.warning:
        ctx.out.note(made.warning)
    ctx.out.line(made.password)


COMMANDS = {
    "admin": Command(
        "admin",
        _configure,
        _run,
        about="What admins do.",
        examples=(
            "examples:\n"
            "  hai admin drain node-3\n"
            "  hai admin quota set user:alice HIGH 8 --ceiling 16 --for 7d\n"
            "  hai admin policy set slice=1h --group training\n"
            "  hai admin rates set EUR --gpu-hour 1.20 --from 2026-11-01\n"
            "  hai admin budgets set cv 500 gpu-hours --per 30d\n"
            "  hai admin mounts set home public /home/{user} --host-path /data/home/{user} --write\n"
            "  hai admin environments set torch --image quay.io/ml/torch:2.9 --for public --default\n"
            "  hai admin user add alice\n"
            '  hai admin user archive bob --note "left in May"\n'
            "  hai admin audit --subject user:bob\n"
            "  hai admin health"
        ),
    )
}
