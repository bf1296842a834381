"""`hai admin mounts`: the rules for folders that tasks and development containers see."""

from __future__ import annotations

import argparse
from typing import Any

from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell
from hai_client.cli.shared.parser import leaf, option
from hai_client.errors import Invalid
from hai_client.wire.storage import ContainerConfig, MountRule


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin mounts`."""
    listing = leaf(verbs, "list", "list all rules, or what a user's development container gets of them", _list)
    option(listing, "--for USER", "the rules that apply to a container of this user", dest="user")
    option(listing, "-g, --group GROUP", "with --for: the node group (default: jupyter)")
    setting = leaf(verbs, "set", "write a rule, all of it", _set)
    option(setting, "name NAME", "name of the rule")
    option(setting, "subject SUBJECT", "user:NAME, group:NAME or public", subject)
    option(setting, "path PATH", "path inside; may hold {user}, {task} and, for a group, {group}")
    what = setting.add_mutually_exclusive_group(required=True)
    option(what, "--host-path FOLDER", "a folder of the node; may hold the same words")
    option(what, "--claim CLAIM[/FOLDER]", "a persistent volume claim, or a folder in it")
    option(what, "--remove", "mount nothing there: takes away what weaker rules add")
    option(setting, "--write", "allow writing (default: read only)")
    option(setting, "--priority N", "the higher wins among rules of users, of groups, or public (0)", _whole, default=0)
    option(setting, "-g, --group GROUP", "only on nodes of this group (all)")
    option(setting, "--description TEXT", "a note for those who read the list", default="")
    removing = leaf(verbs, "remove", "remove a rule", _remove)
    option(removing, "name NAME", "name of the rule")


def subject(text: str) -> str:
    """Check the subject of a rule, and return it."""
    kind, colon, name = text.partition(":")
    if text == "public" or (kind in ("user", "group") and colon and name):
        return text
    name = words.name_in(text)
    raise Invalid(f"subject: {text!r} is not a subject; write user:{name}, group:{name} or public")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Invalid(f"priority: {text!r} is not a whole number; write for example 10") from None


def _list(args: argparse.Namespace, ctx: Context) -> int:
    if args.user is not None:
        return _preview(ctx, ctx.client.container_config(args.user, node_group=args.group))
    if args.group is not None:
        raise Invalid(f"group: {args.group!r} says where a user's container runs; name the user with --for")
    rules = ctx.client.mounts()
    if ctx.listed(rules, "no rules; `hai admin mounts set --help` shows how to write one"):
        return 0
    rows: list[list[Cell | str]] = [
        [
            Cell(rule.name, "bold"),
            rule.subject,
            rule.mount_path,
            _source(rule.kind, rule.source),
            _access(rule),
            str(rule.priority),
            rule.node_group or "all",
            rule.description,
        ]
        for rule in rules
    ]
    ctx.out.table("NAME  SUBJECT  PATH  FROM  ACCESS  >PRIORITY  GROUP  DESCRIPTION?", rows)
    return 0


def _source(kind: str | None, source: str) -> str:
    return "-" if kind is None else f"claim {source}" if kind == "pvc" else source


def _access(rule: MountRule) -> str:
    return "none" if rule.action == "remove" else "read" if rule.read_only else "write"


def _preview(ctx: Context, config: ContainerConfig) -> int:
    if ctx.answered(config):
        return 0
    ctx.out.note(*config.warnings)
    if not config.mounts:
        ctx.out.line(f"no rule mounts anything for {config.user} on {config.node_group} nodes")
    else:
        rows = [
            [
                Cell(one.mount_path, "bold"),
                _source(one.kind, f"{one.source}/{one.sub_path}" if one.sub_path else one.source),
                "read" if one.read_only else "write",
                one.rule,
            ]
            for one in config.mounts
        ]
        ctx.out.table("PATH  FROM  ACCESS  RULE", rows)
    for left in config.left_out:
        ctx.out.line(f"not used: rule {left.rule} at {left.mount_path}: {left.why}")
    return 0


def _set(args: argparse.Namespace, ctx: Context) -> None:
    if args.remove and args.write:
        raise Invalid("write: a rule that removes gives no access; leave --write out")
    rule = ctx.client.set_mount(
        args.name,
        args.subject,
        args.path,
        action="remove" if args.remove else "add",
        kind=None if args.remove else "pvc" if args.claim is not None else "host_path",
        source=args.claim or args.host_path or "",
        read_only=not args.write,
        priority=args.priority,
        node_group=args.group,
        description=args.description,
    )
    ctx.out.note(*rule.warnings)
    if ctx.answered(rule):
        return
    where = "" if rule.node_group is None else f" on {rule.node_group} nodes"
    if rule.action == "remove":
        ctx.out.line(f"{rule.name}: {rule.subject} no longer sees what weaker rules mount at {rule.mount_path}{where}")
        return
    does = "reads" if rule.read_only else "reads and writes"
    source = _source(rule.kind, rule.source)
    ctx.out.line(f"{rule.name}: {rule.subject} {does} {source} at {rule.mount_path}{where}, from the next start on")


def _remove(args: argparse.Namespace, ctx: Context) -> None:
    ctx.client.delete_mount(args.name)
    ctx.answer({"deleted": args.name}, f"rule {args.name} is removed; what runs keeps its mounts")
