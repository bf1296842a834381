"""`hai version`: the version of the command and, with `--check`, what speaks to what, and for how long."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from hai_client import skew
from hai_client.api import Client
from hai_client.backports import dataclass
from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import plural
from hai_client.cli.shared.parser import Command, option
from hai_client.errors import HaiError, NotLoggedIn, Unavailable
from hai_client.http import Transport
from hai_client.skew import Verdict
from hai_client.version import __version__
from hai_client.wire.people import PartVersion, Versions

#: By part: its name in the table, and how it is judged.
_PARTS = {
    "loop": ("scheduling loop", skew.REPLICA),
    "supervisor": ("supervisors", skew.SUPERVISOR),
    "panel": ("panel", skew.PANEL),
    "chart": ("chart", skew.IMAGE),
}
_WORDS = {skew.FINE: "yes", skew.SAY: "yes", skew.REFUSE: "NO", skew.UNKNOWN: "not known"}


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of the platform, and whether it speaks with the service."""

    part: str
    version: str | None
    verdict: Verdict
    count: int = 1

    def value(self) -> Mapping[str, Any]:
        """Return it for JSON."""
        verdict = self.verdict
        return {
            "part": self.part,
            "version": self.version,
            "count": self.count,
            "state": verdict.state,
            "until": verdict.until or None,
            "who": verdict.who or None,
            "detail": verdict.sentence or None,
        }


def _configure(parser: argparse.ArgumentParser) -> None:
    option(parser, "--check", "ask the platform, and say what works with it; status 1 if something must be done")


def _version(args: argparse.Namespace, ctx: Context) -> int:
    if not args.check:
        ctx.answer({"version": __version__}, f"hai {__version__}")
        return 0
    service, rows, problem = _found(ctx)
    must = any(row.verdict.state == skew.REFUSE for row in rows)
    if not ctx.answered(
        {
            "version": __version__,
            "service": service,
            "parts": [row.value() for row in rows],
            "must": must,
            "problem": None if problem is None else problem.message,
        }
    ):
        _show(ctx, service, rows)
        if problem is not None:
            ctx.out.note(problem.message)
    return 1 if must else problem.exit_code if isinstance(problem, Unavailable) else 0


def _found(ctx: Context) -> tuple[str | None, Sequence[PartRow], HaiError | None]:
    """Return the service's version, a row for each other part, and what kept the rest from being asked."""
    try:
        found = ctx.settings(need_token=False)
    except NotLoggedIn as error:
        return None, [_own(None)], error
    # What does not answer now is part of the answer: nothing is waited for.
    client = Client(transport=Transport(found.api_url, found.token, delays_s=()))
    problem: HaiError = NotLoggedIn(f"users are told the rest: run `hai login --url {found.url}`")
    try:
        if found.token is not None:
            asked = client.versions()
            return asked.service, _rows(asked), None
    except HaiError as error:
        problem = error
    try:
        # What the service tells everybody.
        service = client.health().version
    except HaiError as error:
        return None, [_own(None)], error
    return service, [_own(service)], problem


def _own(service: str | None) -> PartRow:
    return PartRow("hai", __version__, skew.judge(skew.CLIENT, __version__, service))


def _rows(found: Versions) -> list[PartRow]:
    rows = [_own(found.service), *(_row(part, found.service) for part in found.parts if part.part in _PARTS)]
    return [*rows, PartRow("database", found.revision, _of_database(found))]


def _row(part: PartVersion, service: str) -> PartRow:
    name, pair = _PARTS[part.part]
    # Of chart and image, the chart is what the image must fit.
    one, other = (service, part.version) if pair == skew.IMAGE else (part.version, service)
    return PartRow(name, part.version, skew.judge(pair, one, other), part.count)


def _of_database(found: Versions) -> Verdict:
    if found.revision is None:
        return Verdict(skew.UNKNOWN)
    if found.revision <= found.known_revision:
        return Verdict(skew.FINE)
    return Verdict(
        skew.SAY,
        f"a newer version has made its tables, and this one knows them up to {found.known_revision}: both can use"
        " them; upgrade the service again when you can",
        "admin",
    )


def _show(ctx: Context, service: str | None, rows: Sequence[PartRow]) -> None:
    out = ctx.out
    out.line(f"service  {service or 'not known'}")
    out.table(
        "PART  VERSION  SPEAKS WITH IT  UNTIL IT IS  NOTE...",
        [
            [row.part, row.version or "-", _WORDS[row.verdict.state], row.verdict.until or "-", _note(row)]
            for row in rows
        ],
    )


def _note(row: PartRow) -> str:
    count = plural(row.count, "live run") if row.part == "supervisors" else ""
    unheard = " that have not said it yet" if count and row.version is None else ""
    return "; ".join(text for text in (count + unheard, row.verdict.sentence) if text)


COMMANDS = {
    "version": Command(
        "version",
        _configure,
        _version,
        about="Show the version of hai. With --check, show which parts of the platform work together, and how long.",
        examples="examples:\n  hai version --check\n  hai version --check --json",
    )
}
