"""The report of a chaos run, as Markdown for people and JSON for programs."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaos.invariants import CHECKS
from chaos.records import Records

#: How many violations of one kind are shown; the JSON has all of them.
SHOWN = 20


@dataclass
class Struck:
    """One strike and its outcome."""

    name: str
    #: Seconds since the epoch.
    at: float
    #: Load average of the last minute.
    load: float
    #: Seconds until the platform was healthy again; None if it was not.
    healthy_s: float | None = None
    #: Seconds until the state of a task changed; None if no state changed any more.
    decision_s: float | None = None


@dataclass
class Outcome:
    """The outcome of the whole run."""

    on: str
    seed: int
    minutes: float
    nodes: int
    records: Records
    violations: dict[str, list[str]]
    strikes: list[Struck] = field(default_factory=list)
    #: Processes that the chaos run itself had to start again.
    revived: list[str] = field(default_factory=list)
    #: Calls of `hai list`, and how many of them were told that the platform is away.
    asked: int = 0
    away: int = 0
    #: Submissions that got no answer and were sent again.
    unanswered: int = 0
    interrupted: bool = False
    #: Seconds from the last strike until every task had ended.
    drained_s: float = 0.0

    @property
    def good(self) -> bool:
        """Whether every check held."""
        return not any(self.violations.values())

    def counts(self) -> dict[str, int]:
        """Numbers of what happened, by name."""
        reasons = Counter(run.reason for task in self.records.tasks for run in task.runs)
        return {
            "strikes": len(self.strikes),
            "strikes that found nothing to hit": self.records.missed.total(),
            "submissions accepted": len(self.records.accepted),
            "tries that were not answered": self.unanswered,
            "runs": sum(reasons.values()),
            **{
                f"runs ended {reason}": count
                for reason, count in sorted(reasons.items(), key=lambda item: str(item[0]))
            },
            "rank starts": len(self.records.ranks),
            "lines of logs compared": sum(map(len, self.records.logs.values())),
            "logs followed": len(self.records.followed),
            "events followed": len(self.records.feed),
            "`hai` typed": self.asked,
            "of these: the platform is away": self.away,
        }


def write(outcome: Outcome, folder: Path) -> Path:
    """Write `report.md` and `report.json` into a folder; returns the path of `report.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "on": outcome.on, "seed": outcome.seed, "minutes": outcome.minutes, "nodes": outcome.nodes,
        "interrupted": outcome.interrupted, "good": outcome.good, "violations": outcome.violations,
        "counts": outcome.counts(), "recovery": recovery(outcome.strikes), "revived": outcome.revived,
        "drained_s": outcome.drained_s, "strikes": [asdict(strike) for strike in outcome.strikes],
    }  # fmt: skip
    (folder / "report.json").write_text(json.dumps(data, indent=1) + "\n")
    file = folder / "report.md"
    file.write_text(text(outcome))
    return file


def text(outcome: Outcome) -> str:
    """The report for people."""
    cut = ", interrupted" if outcome.interrupted else ""
    head = f"# Chaos on {outcome.on}: {outcome.minutes:g} minutes, seed {outcome.seed}, {outcome.nodes} nodes{cut}"
    rows = [[check.name, str(len(outcome.violations[check.name])), check.holds] for check in CHECKS]
    parts = [head, "", *_table(["check", "violations", "what must hold"], rows), ""]
    for name, found in outcome.violations.items():
        if found:
            often = Counter(found).most_common(SHOWN)
            parts += [
                f"**{name}**",
                "",
                *(f"- {count} x {what}" if count > 1 else f"- {what}" for what, count in often),
            ]
            shown = sum(count for _, count in often)
            parts += [f"- and {len(found) - shown} more"] if len(found) > shown else []
            parts.append("")
    parts += ["## Recovery", "", *_table(HEAD, recovery(outcome.strikes)), "", "## What happened", ""]
    parts += [f"- {name}: {count}" for name, count in outcome.counts().items()]
    parts.append(f"- seconds until every task had ended after the last strike: {outcome.drained_s:.0f}")
    parts += [
        f"- started again by the run itself: {count} x {what}" for what, count in Counter(outcome.revived).items()
    ]
    return "\n".join(parts) + "\n"


HEAD = [
    "strike", "n", "kill to healthy p50", "p95", "max", "kill to next decision p50", "p95", "load average p50"
]  # fmt: skip


def recovery(strikes: Sequence[Struck]) -> list[list[str]]:
    """Rows of a table: seconds until recovery by kind of strike, with the machine's load; the row of all comes last."""
    by_name: dict[str, list[Struck]] = defaultdict(list)
    for strike in strikes:
        by_name[strike.name].append(strike)
    rows = [_row(name, found) for name, found in sorted(by_name.items())]
    return [*rows, _row("all", strikes)] if rows else []


def _row(name: str, strikes: Sequence[Struck]) -> list[str]:
    healthy = [strike.healthy_s for strike in strikes if strike.healthy_s is not None]
    decided = [strike.decision_s for strike in strikes if strike.decision_s is not None]
    load = [strike.load for strike in strikes]
    shown = [share(healthy, 0.5), share(healthy, 0.95), share(healthy, 1.0), share(decided, 0.5), share(decided, 0.95)]
    return [name, str(len(strikes)), *(f"{s:.1f} s" if s is not None else "" for s in shown), f"{share(load, 0.5):.1f}"]


def share(values: Sequence[float], part: float) -> float | None:
    """The smallest value that at least `part` of the values (0 to 1) do not exceed; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return statistics.median(ordered) if part == 0.5 else ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
