"""`hai policy`: the numbers that the scheduler decides with; `hai admin policy` changes them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from hai_client.backports import without_prefix
from hai_client.cli.platform import trial
from hai_client.cli.shared import parser as words_
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, ago
from hai_client.cli.shared.parser import Command, leaf, option
from hai_client.errors import Invalid
from hai_client.wire.policy import Policy, PolicyNumber, PolicyValue

#: Prefix of a number's name that sets the weight of one user.
_ENTRY = "weights."


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "-g, --group GROUP", "show the numbers of this node group")
    option(
        parser, "verb try", "try other numbers on the tasks of the last days (for admins)", nargs="?", choices=["try"]
    )
    option(parser, "changes NAME=VALUE", "with `try`: numbers to try; nothing is changed", nargs="*")
    option(parser, "--days N", "with `try`: days of tasks (3)", words_.count("days"))


def _policy(args: argparse.Namespace, ctx: Context) -> int:
    if args.verb == "try":
        return trial.run(args, ctx)
    if args.days is not None:
        raise Invalid("days: goes with `hai policy try NAME=VALUE` only; leave it out to see the numbers")
    policy = ctx.client.policy()
    if args.group is not None:
        _check_group(policy, args.group)
    if ctx.answered(policy):
        return 0
    rows = [row for number in policy.numbers for row in _rows(number, args.group)]
    ctx.out.table("NUMBER  GROUP  VALUE  FROM  RULE?  MEANING...", rows)
    _notes(policy, ctx)
    return 0


def _check_group(policy: Policy, group: str) -> None:
    if group not in policy.groups:
        raise Invalid(f"group: there is no node group {group!r}; choose one of {', '.join(policy.groups) or 'none'}")


def _rows(number: PolicyNumber, group: str | None) -> list[list[Cell | str]]:
    """Return the rows of a policy number: for one node group, or for all groups and each group with its own value."""
    if group is not None:
        shown = [(group, number.groups[group])]
    else:
        own = [(name, value) for name, value in sorted(number.groups.items()) if value.group == name]
        shown = [("all", number.common), *own]
    return [
        [
            Cell(number.name if at == 0 else "", "bold"),
            name,
            text_of(value.value),
            _origin(value),
            number.rule or "-",
            number.help if at == 0 else "",
        ]
        for at, (name, value) in enumerate(shown)
    ]


def text_of(value: Any) -> str:
    """Return a policy number in readable form."""
    if isinstance(value, dict):
        return " ".join(f"{user}:{weight:g}" for user, weight in sorted(value.items())) or "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _origin(value: PolicyValue) -> str:
    if value.source != "admin" or value.by is None:
        return value.source
    return value.by if value.at is None else f"{value.by}, {ago(value.at)}"


def _notes(policy: Policy, ctx: Context) -> None:
    if policy.trouble is not None:
        ctx.out.note(f"what admins have set is not used: {policy.trouble}")
    ctx.out.note(*policy.warnings)


# --- for admins


def configure_admin(verbs: Any) -> None:
    """Add the verbs of `hai admin policy`."""
    setting = leaf(verbs, "set", "change numbers", _set)
    option(
        setting,
        "changes NAME=VALUE",
        "a number of `hai policy`: slice=1h, strikes=4, weights=alice:2,bob:0.5, or weights.alice=2 for one user",
        trial.assignment,
        nargs="+",
    )
    unsetting = leaf(verbs, "unset", "take numbers back to the configuration, or to the default", _unset)
    option(unsetting, "names NAME", "name of a number; weights.alice removes one user's weight", nargs="+")
    for one in (setting, unsetting):
        option(one, "-g, --group GROUP", "for this node group; else for all of them")


def _set(args: argparse.Namespace, ctx: Context) -> int:
    values: dict[str, Any] = {name: value for name, value in args.changes if not name.startswith(_ENTRY)}
    entries = [(name, value) for name, value in args.changes if name.startswith(_ENTRY)]
    weights = {without_prefix(name, _ENTRY): _weight(name, value) for name, value in entries}
    if weights and "weights" in values:
        raise Invalid("weights: set all of them, or some with weights.NAME=N; not both at once")
    version = None
    if weights:
        known, version = _weights(args.group, ctx)
        values["weights"] = {**known, **weights}
    return _change(args, ctx, values, (), version)


def _unset(args: argparse.Namespace, ctx: Context) -> int:
    values: dict[str, Any] = {}
    users = [without_prefix(name, _ENTRY) for name in args.names if name.startswith(_ENTRY)]
    version = None
    if users:
        weights, version = _weights(args.group, ctx)
        values["weights"] = {user: weight for user, weight in weights.items() if user not in users}
    return _change(args, ctx, values, [name for name in args.names if not name.startswith(_ENTRY)], version)


def _weight(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Invalid(f"{name}: {text!r} is not a number; write for example {name}=2") from None


def _weights(group: str | None, ctx: Context) -> tuple[dict[str, Any], str]:
    """Return the current weights, so that some of them can be changed, and the version of the policy."""
    policy = ctx.client.policy()
    if group is not None:
        _check_group(policy, group)
    number = next(number for number in policy.numbers if number.name == "weights")
    value: dict[str, Any] = (number.common if group is None else number.groups[group]).value
    return dict(value), policy.version


def _change(
    args: argparse.Namespace, ctx: Context, values: dict[str, Any], unset: Sequence[str], version: str | None
) -> int:
    policy = ctx.client.set_policy(values, unset=unset, group=args.group, version=version or None)
    if ctx.answered(policy):
        return 0
    place = "" if args.group is None else f" in group {args.group}"
    changed = {*values, *unset}
    for number in policy.numbers:
        if number.name in changed:
            value = number.common if args.group is None else number.groups.get(args.group, number.common)
            ctx.out.line(f"{number.name} is {text_of(value.value)}{place} ({value.source})")
    _notes(policy, ctx)
    return 0


COMMANDS = {
    "policy": Command(
        "policy",
        _configure,
        _policy,
        about="Show the numbers that the scheduler decides with, and where each of them comes from.",
        examples="examples:\n  hai policy\n  hai policy --group training\n  hai policy try slice=1h --days 7\n"
        "  hai admin policy set slice=1h",
    )
}
