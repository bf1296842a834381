"""Reads the options of `sinfo`: which nodes are asked for, and what is shown of them."""

from __future__ import annotations

import os

from hai_client.launching.hostlist import expand
from hai_slurm.shared.columns import SINFO_LETTERS, SINFO_NAMES
from hai_slurm.shared.getting import BadOption, KnownOptions
from hai_slurm.shared.tables import Table, chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FORMAT = "%9P %.5a %.10l %.6D %.6t %N"
#: The columns that an option shows.
_FORMATS = {
    "summarize": "%9P %.5a %.10l %.16F  %N",
    "Node": "%20N %.6D %9P %6t",
    "list-reasons": "%20E %9u %19H %N",
}
_KNOWN = KnownOptions(
    {
        "a": "all", "d": "dead", "e": "exact", "h": "noheader", "i": "iterate=", "l": "long", "M": "clusters=",
        "n": "nodes=", "N": "Node", "o": "format=", "O": "Format=", "p": "partition=", "r": "responding",
        "R": "list-reasons", "s": "summarize", "S": "sort=", "t": "states=", "T": "reservation", "v": "verbose",
    },
    {"federation": "federation", "hide": "hide", "json": "json", "local": "local", "noconvert": "noconvert",
     "yaml": "yaml", "cluster": "clusters="},
)  # fmt: skip
_REFUSED = {
    "json": "HAI prints tables here; `hai nodes --json` prints JSON",
    "yaml": "HAI prints tables here; `hai nodes --json` prints JSON",
    "iterate": "HAI prints once: call it in a loop",
    "reservation": "HAI has no reservations: leave it out",
}
#: Values of a group of nodes; nodes that differ in nothing else are one row.
_OF_GROUPS = ("NODES", "NODELIST", "HOSTNAMES", "NODES(A/I)", "NODES(A/I/O/T)")
#: States of nodes: held, free, and others.
_HELD = ("allocated", "mixed", "draining")


class NodeQuery:
    """Which nodes are asked for, and what is shown of them."""

    def __init__(self) -> None:
        self.table = Table(())
        self.partitions: list[str] = []
        self.nodes: list[str] = []
        self.states: list[str] = []
        self.each = False

    def take(self, name: str, value: str) -> None:
        """Take an option. Raises BadOption."""
        if name in _REFUSED:
            raise BadOption(f"--{name}: {_REFUSED[name]}")
        if name == "Node":
            self.each = True
        elif name in ("list-reasons", "dead"):
            self.states = ["down"] if name == "dead" else ["drain", "drng", "down"]
        elif name == "partition":
            self.partitions += value.split(",")
        elif name == "nodes":
            self.nodes += expand(value)
        elif name == "states":
            self.states += [word.rstrip("*") for word in value.lower().split(",") if word != "all"]

    def lines(self, rows: Iterable[Mapping[str, str]]) -> list[str]:
        """Return the lines of the table: nodes that look alike in it are one row, unless each is asked for."""
        groups: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
        for row in rows:
            if not self._wanted(row):
                continue
            shown = [column.value for column in self.table.columns if column.value not in _OF_GROUPS]
            alone = (row["NODELIST"],) if self.each or self.table.shows("HOSTNAMES") else ()
            groups.setdefault((row["PARTITION_NAME"], *alone, *(row.get(value, "") for value in shown)), []).append(row)
        return self.table.lines([_summed(group) for group in groups.values()])

    def _wanted(self, row: Mapping[str, str]) -> bool:
        states = (row["STATE"], row["STATE_LONG"])
        return (
            (not self.partitions or row["PARTITION_NAME"] in self.partitions)
            and (not self.nodes or row["NODELIST"] in self.nodes)
            and (not self.states or any(state.startswith(word) for word in self.states for state in states))
        )


def _summed(group: Sequence[Mapping[str, str]]) -> dict[str, str]:
    held = sum(row["STATE_LONG"] in _HELD for row in group)
    idle = sum(row["STATE_LONG"] == "idle" for row in group)
    names = ",".join(row["NODELIST"] for row in group)
    return {
        **group[0],
        "NODES": str(len(group)),
        "NODELIST": names,
        "HOSTNAMES": names,
        "NODES(A/I)": f"{held}/{idle}",
        "NODES(A/I/O/T)": f"{held}/{idle}/{len(group) - held - idle}/{len(group)}",
    }


def read_sinfo(words: Sequence[str]) -> NodeQuery:
    """Read the options of `sinfo`. Raises BadOption."""
    given, rest = _KNOWN.split(words)
    if rest:
        raise BadOption(f"{rest[0]}: a word too many")
    query = NodeQuery()
    usual = os.environ.get("SINFO_FORMAT") or _FORMAT
    for name, value in given:
        usual = _FORMATS.get(name, usual)
        query.take(name, value)
    query.table = chosen(given, usual, SINFO_LETTERS, SINFO_NAMES)
    return query
