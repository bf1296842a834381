"""Settings of the limits of the REST interface: traitlets, turned into frozen numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final

from traitlets import Dict, Float, Int, Unicode
from traitlets.config import Configurable

from hai_client.durations import parse_duration
from hai_scheduler.api.server.kinds import DEFAULTS, Budget, Kind, LimitSettings

_NUMBERS: Final = tuple(field.name for field in fields(Budget))
_MEANINGS: Final[Mapping[Kind, str]] = {
    Kind.PUBLIC: "Requests without a token (health, the interface's description, the page's files), by address.",
    Kind.LOGIN: "Requests with a token that must be checked with the Hub, by address; `rate` and `burst` count "
    "only tokens that the Hub does not know.",
    Kind.READ: "Requests that read, by user.",
    Kind.WRITE: "Requests that change something, by user.",
    Kind.EXPENSIVE: "Requests that compute, by user: experiment files, forecasts, dry runs, explanations, "
    "searches in logs.",
    Kind.UPLOAD: "Requests that send or fetch files (code, logs, recordings), by user.",
    Kind.STREAM: "Open streams of events and logs, by user.",
    Kind.RUN: "Reports, metrics and logs of ranks, by the user whose runs they are.",
    Kind.RUN_WAIT: "Requests of ranks that wait for a notice or for each other, by the user whose runs they are.",
}
_SHORTEST_UNIT: Final = 1024
#: Numbers of a budget that need not be whole.
_FRACTIONS: Final = ("rate", "work")
_MOST: Final = 1_000_000


class LimitsError(ValueError):
    """A limit is wrong; the message names it, its value and the remedy."""


def _traits() -> dict[str, Any]:
    return {
        kind.value: Dict(
            default_value={name: getattr(DEFAULTS[kind], name) for name in _NUMBERS},
            # As on the command line, where all is text.
            value_trait=Float(),
            help=_MEANINGS[kind],
        ).tag(config=True)
        for kind in Kind
    }


class ApiLimits(Configurable):
    """Limits of the REST interface for each client, in each process that serves it.

    For each kind of request: `at_once` (running requests of one client), `total` (running requests of all clients,
    who take turns), `rate` (requests of one client in a second), `burst` (requests beyond the rate, after a pause),
    `work` (processor seconds of one client in a second; a request that takes more than `work / rate` counts as several)
    and `waiting` (requests of one client that wait for their turn). A number that is left out keeps its default.
    """

    # The namespace of a class body: the traits are there when traitlets looks for them.
    vars().update(_traits())
    wait = Unicode("5s", help="How long a request waits for its turn before it is refused (429).").tag(config=True)
    unit = Int(
        LimitSettings().unit,
        help="Bytes of a request's or an answer's body that count as one more request: large pages cost more.",
    ).tag(config=True)

    def frozen(self) -> LimitSettings:
        """The checked limits. Raises LimitsError, and Invalid for a wrong length of time."""
        if self.unit < _SHORTEST_UNIT:
            raise LimitsError(f"ApiLimits.unit is {self.unit}: give {_SHORTEST_UNIT} bytes or more")
        return LimitSettings(
            budgets={kind: _budget(kind, getattr(self, kind.value)) for kind in Kind},
            wait=parse_duration(self.wait, field="ApiLimits.wait"),
            unit=self.unit,
        )


def _budget(kind: Kind, given: Mapping[str, float]) -> Budget:
    numbers: dict[str, Any] = {}
    for name, value in given.items():
        place = f"ApiLimits.{kind.value}[{name!r}]"
        if name not in _NUMBERS:
            raise LimitsError(f"{place}: there is no such number: choose from {', '.join(_NUMBERS)}")
        least = 0 if name == "waiting" else 0.01 if name in _FRACTIONS else 1
        if not least <= value <= _MOST or (name not in _FRACTIONS and value != int(value)):
            what = "a number" if name in _FRACTIONS else "a whole number"
            raise LimitsError(f"{place} is {value:g}: give {what} from {least} to {_MOST}")
        numbers[name] = value if name in _FRACTIONS else int(value)
    return replace(DEFAULTS[kind], **numbers)
