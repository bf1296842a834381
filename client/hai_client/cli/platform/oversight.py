"""`hai admin audit` and `hai admin health`: who changed what, and how the platform does."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hai_client.backports import UTC
from hai_client.cli.platform.days import read_days
from hai_client.cli.shared import parser as words
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Cell, Output, ago, local
from hai_client.cli.shared.parser import leaf, option
from hai_client.wire.people import AuditEntry, PlatformHealth

#: The most characters of one value in a table.
_SHOWN = 40


def configure_admin(verbs: Any) -> None:
    """Add `hai admin audit` and `hai admin health`."""
    audit = leaf(verbs, "audit", "show who changed what, newest first", _audit)
    option(audit, "--who NAME", "only changes by this user")
    option(audit, "--action WORD", "an action such as quota.put, or a family such as quota")
    option(audit, "--subject WORD", "a subject such as user:ann, or a kind such as node")
    when = "a day, a month, today, yesterday, or how long ago: 7d"
    option(audit, "--since DAY", f"from then on: {when}")
    option(audit, "--until DAY", "only changes until the end of this day or month")
    option(audit, "-n, --limit N", "show the newest N entries (50)", words.count("limit"), default=50)
    leaf(verbs, "health", "show how scheduler, database and cluster do, versions, and alarms in force", _health)


def _audit(args: argparse.Namespace, ctx: Context) -> None:
    now = datetime.now(UTC)
    entries = list(
        ctx.client.audit(
            who=args.who,
            action=args.action,
            subject=args.subject,
            since=None if args.since is None else read_days(args.since, "since", now).begin,
            until=None if args.until is None else read_days(args.until, "until", now).end,
            limit=args.limit,
        )
    )
    if not ctx.listed(entries, "none: no admin has changed anything that matches"):
        audit_table(ctx.out, entries)


def audit_table(out: Output, entries: Sequence[AuditEntry]) -> None:
    """Write entries of the audit as a table."""
    rows: list[list[Cell | str]] = [
        [local(one.at), Cell(one.actor, "bold"), one.action, one.subject, change_of(one.before, one.after)]
        for one in entries
    ]
    out.table(
        "TIME  WHO  ACTION  SUBJECT  CHANGE  FROM?",
        [[*row, one.address or "-"] for row, one in zip(rows, entries)],
    )


def change_of(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """Return what was changed, as `name: old -> new` for each field that differs."""
    old, new = before or {}, after or {}
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if before is None or after is None:
        return ", ".join(f"{name}: {_short((old or new)[name])}" for name in names) or "-"
    return ", ".join(f"{name}: {_short(old.get(name))} -> {_short(new.get(name))}" for name in names) or "-"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _health(_args: argparse.Namespace, ctx: Context) -> None:
    found = ctx.client.platform_health()
    if ctx.answered(found):
        return
    for name, text in _parts(found):
        ctx.out.line(f"{name:<10} {text}")
    for one in found.doubled_uids:
        users = ", ".join(one.users)
        ctx.out.line(f"{ctx.out.style('warning', 'bold')}: {users} have one uid, {one.uid}, and each other's files")
    for alarm in found.alarms:
        ctx.out.line(f"{ctx.out.style(alarm.severity, 'bold')}: {alarm.summary}. {alarm.detail}")
        ctx.out.line(f"  {alarm.name}: docs/{alarm.runbook}")


def _parts(found: PlatformHealth) -> list[tuple[str, str]]:
    scheduler, database, cluster = found.scheduler, found.database, found.cluster
    state = "decides" if scheduler.deciding else "decides nothing"
    paused = "; paused by an admin" if scheduler.paused else ""
    ticks = f"; ticks take {scheduler.tick_p50_s * 1000:.0f} ms (p50), {scheduler.tick_p95_s * 1000:.0f} ms (p95)"
    last = "no tick yet" if scheduler.last_tick is None else f"last tick {ago(scheduler.last_tick)}"
    size = "" if database.size is None else f", {database.size / 1e6:.1f} MB"
    answered = f"{database.kind}{size}, revision {database.revision or '-'}, {_ms(database.answer_s)}"
    nodes = ", ".join(f"{count} {state}" for state, count in cluster.nodes.items()) or "none known"
    named = ", ".join(f"{name} {version}" for name, version in found.versions.items() if version is not None)
    return [
        ("status", found.status),
        ("scheduler", f"{state}; {last}{ticks}{paused}; leader {scheduler.leader or 'none'}"),
        *([("", scheduler.detail)] if scheduler.detail else []),
        ("database", answered if database.reachable else "does not answer"),
        (
            "cluster",
            f"{'answers in ' + _ms(cluster.answer_s) if cluster.reachable else 'does not answer'}; nodes: {nodes}",
        ),
        ("versions", named or "not known"),
    ]


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.0f} ms"
