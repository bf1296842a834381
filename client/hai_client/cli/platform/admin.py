"""`hai admin`: nodes, quota, policy, rates, budgets, mounts, fabrics, environments, orphans, users, pauses, audit."""

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
    fabrics,
    mounts,
    node_preview,
    nodes,
    orphans,
    oversight,
    pausing,
    people,
    policy,
    secrets,
)
from hai_client.cli.platform.quota import by_level, limit, may_hold, until
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, ago
from hai_client.cli.shared.parser import Command, leaf, option, run_leaf
from hai_client.errors import Forbidden, HaiError, Invalid, NotFound
from hai_client.hub import Hub, HubPassword, HubUser
from hai_client.wire.schema import Node


def _group(parent: argparse.ArgumentParser, dest: str) -> Any:
    return parent.add_subparsers(dest=dest, metavar="VERB", required=True)


def _configure(parser: argparse.ArgumentParser) -> None:
    group = _group(parser, "verb")
    for name, help_ in (
        ("cordon", "start nothing new on nodes"),
        ("uncordon", "use nodes again"),
        ("drain", "start nothing new on nodes and ask what runs there to leave"),
    ):
        marking = leaf(group, name, help_, _mark)
        option(marking, "nodes NODE", "names of nodes", nargs="+")
        if name != "uncordon":
            option(marking, "--preview", "say who would leave, go on where, and wait longer; do nothing")
    pausing.configure_admin(group)
    quota = _group(group.add_parser("quota", help="list, set or delete rows of quota"), "quota_verb")
    leaf(quota, "list", "list all rows", _quota_list)
    setting = leaf(quota, "set", "write a row", _quota_set)
    deleting = leaf(quota, "delete", "remove a row", _quota_delete)
    for one in (setting, deleting):
        option(one, "subject SUBJECT", "user:NAME, group:NAME (each member), total:NAME or public", subject)
        option(one, "priority LEVEL", "the priority it is for", words_.level)
        option(one, "-g, --group GROUP", "node group (training)", default="training")
    option(setting, "limit LIMIT", "nodes that each may hold at once; `none`: no limit", _limit)
    option(
        setting, "--ceiling N", "most nodes to which users may raise their own row", words_.count("ceiling", least=0)
    )
    ends = setting.add_mutually_exclusive_group()
    option(ends, "--until TIME", "the row ends then: 2026-12-31 (at the end of that day) or a time", _time)
    option(ends, "--for LENGTH", "the row ends after this: 7d", _lasts, dest="lasts")
    changing = _group(group.add_parser("policy", help="change the scheduler's numbers"), "policy_verb")
    policy.configure_admin(changing)
    secrets.configure_admin(_group(group.add_parser("secrets", help="seal secrets again"), "secrets_verb"))
    prices = _group(group.add_parser("rates", help="list, set or delete what hours cost"), "rates_verb")
    costs.configure_rates(prices)
    limits = _group(group.add_parser("budgets", help="list, set or delete budgets of user groups"), "budgets_verb")
    costs.configure_budgets(limits)
    rules = _group(group.add_parser("mounts", help="list, set or remove mount rules"), "mounts_verb")
    mounts.configure_admin(rules)
    networks = _group(group.add_parser("fabrics", help="list, put, try or rm fabrics"), "fabrics_verb")
    fabrics.configure_admin(networks)
    named = _group(group.add_parser("environments", help="list, set or remove environments"), "environments_verb")
    environments.configure_admin(named)
    strays = _group(group.add_parser("orphans", help="list or end runs that belong to no task"), "orphans_verb")
    orphans.configure_admin(strays)
    about_users = "list, add, archive or restore users, make passwords for them, or erase them from the ledger"
    user = _group(group.add_parser("user", help=about_users), "user_verb")
    listing = leaf(user, "list", "list all users", _user_list)
    option(listing, "--archived", "show archived users, with the reason")
    people.configure_admin(user)
    adding = leaf(user, "add", "add a user", _user_add)
    option(adding, "name NAME", "the name that the user signs in with")
    option(adding, "--admin", "an admin of the Hub")
    option(adding, "--token", "make a token instead of a password and print it, once")
    erasing = leaf(user, "erase", "take a user's name out of the ledger for good; all sums stay", _user_erase)
    option(erasing, "name NAME", "user whose password is removed; tasks and account stay")
    renewing = leaf(user, "password", "make a new password for a user and print it, once", _user_password)
    option(renewing, "name NAME", "user who gets a new password; the old one ends")
    oversight.configure_admin(group)


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


def _mark(args: argparse.Namespace, ctx: Context) -> int:
    if getattr(args, "preview", False):
        return node_preview.run(args, ctx)
    acts: dict[str, Callable[[Client, str], Node]] = {
        "cordon": Client.cordon,
        "uncordon": Client.uncordon,
        "drain": Client.drain,
    }
    done = [acts[args.verb](ctx.client, name) for name in args.nodes]
    if not ctx.answered({"items": done}):
        nodes.table(ctx.out, done)
    return 0


def _quota_list(_args: argparse.Namespace, ctx: Context) -> None:
    rows = ctx.client.quotas()
    if ctx.listed(rows, "no rows; `hai admin quota set public NORMAL 4` lets every user hold 4 nodes at NORMAL"):
        return
    ctx.out.table(
        "SUBJECT  GROUP  PRIORITY  >LIMIT  >CEILING  UNTIL",
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


def _quota_set(args: argparse.Namespace, ctx: Context) -> None:
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
    if ctx.answered(row):
        return
    what = "any number of nodes" if row.limit is None else f"at most {row.limit} nodes"
    end = "" if row.expires_at is None else f" until {until(row.expires_at)}"
    ceiling = "" if row.ceiling is None else f"; users may raise their own row up to {row.ceiling}"
    ctx.out.line(f"{row.subject} may hold {what} of {row.group} at {row.priority}{end}{ceiling}")


def _quota_delete(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.delete_quota(args.subject, args.priority, group=args.group)
    ctx.answer(
        {"deleted": {"subject": args.subject, "group": args.group, "priority": args.priority}},
        f"{args.subject} has no row of its own any more for {args.group} at {args.priority}",
    )


def _user_erase(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.erase_from_ledger(args.name)
    ctx.answer({"erased": args.name}, f"{args.name} is no longer named in the ledger; all sums are as before")


def _user_list(args: argparse.Namespace, ctx: Context) -> int:
    if args.archived:
        return people.list_archived(ctx)
    users = list(Hub(ctx.settings(), waiting=ctx.waiting).users())
    if ctx.answered({"items": users}):
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
    ctx.out.table("NAME  HUB ADMIN  ACTIVE  GROUPS", rows)
    return 0


def _user_add(args: argparse.Namespace, ctx: Context) -> None:
    hub = Hub(ctx.settings(), waiting=ctx.waiting)
    user = hub.add_user(args.name, admin=args.admin)
    if args.token:
        token = hub.make_token(user.name, note="hai admin user add").token
        if ctx.answered({"user": user, "token": token}):
            return
        ctx.out.note(f"{user.name} is added; the token is shown only now")
        ctx.out.line(token)
        _say_what_may_be_held(user, ctx)
        return
    try:
        made = hub.make_password(user.name)
    except (NotFound, Forbidden):
        # An admin who may add users may make passwords: this Hub has none, as users sign in in another way.
        made = None
    if ctx.answered({"user": user, **({"password": made.password} if made else {})}):
        return
    if made is None:
        ctx.out.line(f"{user.name} is added")
    else:
        _show(made, ctx, "is added")
    _say_what_may_be_held(user, ctx)


def _say_what_may_be_held(user: HubUser, ctx: Context) -> None:
    try:
        ctx.out.note(may_hold(user.name, user.groups, ctx.client.quotas()))
    except HaiError as error:
        # Only note the error: the user has been added.
        ctx.out.note(f"what {user.name} may hold is not known now: {error.message}")


def _user_password(args: argparse.Namespace, ctx: Context) -> None:
    made = Hub(ctx.settings(), waiting=ctx.waiting).make_password(args.name)
    if not ctx.answered({"name": made.name, "password": made.password}):
        _show(made, ctx, "has a new password")


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
        run_leaf,
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
