"""Check the options of a spot container, in the same way for the REST interface and for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

from hai_client import constants
from hai_spawner.containers.menu import Refusal, Why

#: Priorities that a user can ask for, the lowest first; AUTO is the highest one that still has quota (Q4).
PRIORITIES: Final = (*constants.PRIORITIES, constants.AUTO)
#: Longest text of an option, in characters.
_LONGEST: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotOptions:
    """A node, or some GPUs of one, for a JupyterLab server."""

    gpus: int | None = None  #: Number of GPUs of a node; None: a whole node.
    priority: str = "LOW"  #: Priority that the task asks for, or AUTO.
    group: str = "training"  #: Name of the node group.
    grace_s: float = 300.0  #: Seconds between the notice and the deadline, in which the user can save.
    environment: str | None = None  #: Name of the environment; None: the platform's default.

    def to_user_options(self) -> dict[str, Any]:
        """Return the options in the form that the Hub stores and the REST interface reads."""
        spot = asdict(self)
        environment = spot.pop("environment")
        return {"spot": spot} | ({"environment": environment} if environment else {})

    @property
    def sentence(self) -> str:
        """The options in words."""
        what = "a whole node" if self.gpus is None else f"{self.gpus} GPU{'s' if self.gpus > 1 else ''} of a node"
        return f"Asked for {what} of group {self.group!r} at priority {self.priority}"


def wants_spot(options: object) -> bool:
    """Return whether a request is for a spot container, even if its options are wrong."""
    return isinstance(options, Mapping) and options.get("spot") not in (None, False)


def read_spot(options: Mapping[str, Any], defaults: SpotOptions) -> SpotOptions:
    """Return the options of a request for a spot container.

    Args:
        options: `user_options` of the request.
        defaults: Options for what the request leaves out.

    Raises:
        Refusal: An option is wrong; the message names the option, its value and the remedy.
    """
    for key in options:
        if key == "profile" and options[key] in (None, ""):
            continue
        if key not in ("spot", "environment"):
            raise Refusal(
                Why.OPTIONS,
                f"user_options has {_shown(key)} beside spot: a spot container takes only spot and environment.",
            )
    spot = {} if options["spot"] is True else options["spot"]
    if not isinstance(spot, Mapping):
        raise Refusal(Why.OPTIONS, f"spot is {_shown(spot)}: send a table, or true for a whole node as it is usual.")
    known = [item.name for item in fields(SpotOptions) if item.name != "environment"]
    for key in spot:
        if key not in known:
            raise Refusal(Why.OPTIONS, f"spot has {_shown(key)}: there is no such option; use {', '.join(known)}.")
    return replace(
        defaults,
        gpus=_gpus(spot.get("gpus", defaults.gpus)),
        priority=_priority(spot.get("priority") or defaults.priority),
        group=_text("spot.group", spot.get("group") or defaults.group),
        grace_s=_seconds(spot.get("grace_s", defaults.grace_s)),
        environment=_text("environment", options["environment"]) if options.get("environment") else None,
    )


def spot_of_form(form: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any] | None, dict[str, Sequence[Any]]]:
    """Split a form or a query; returns the spot options in the form of the REST interface, None: no spot, and the rest.

    Raises:
        Refusal: The number of GPUs is not a number.
    """
    rest = {key: values for key, values in form.items() if not key.startswith("spot")}
    given = {key: str(values[-1]).strip() for key, values in form.items() if key.startswith("spot") and values}
    if given.get("spot") not in ("on", "true", "1"):
        return None, rest
    spot: dict[str, Any] = {}
    if gpus := given.get("spot_gpus"):
        if not (gpus.isascii() and gpus.isdigit()):
            raise Refusal(
                Why.OPTIONS, f"spot_gpus is {_shown(gpus)}: give a whole number, or nothing for a whole node."
            )
        spot["gpus"] = int(gpus)
    if priority := given.get("spot_priority"):
        spot["priority"] = priority
    return spot, rest


def _gpus(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 100_000):
        return value
    raise Refusal(Why.OPTIONS, f"spot.gpus is {_shown(value)}: give a whole number from 1, or null for a whole node.")


def _priority(value: object) -> str:
    if isinstance(value, str) and value.upper() in PRIORITIES:
        return value.upper()
    raise Refusal(Why.OPTIONS, f"spot.priority is {_shown(value)}: use one of {', '.join(PRIORITIES)}.")


def _text(name: str, value: object) -> str:
    if isinstance(value, str) and len(value) <= _LONGEST and value.isprintable():
        return value
    raise Refusal(Why.OPTIONS, f"{name} is {_shown(value)}: send a text of at most {_LONGEST} printable characters.")


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    raise Refusal(Why.OPTIONS, f"spot.grace_s is {_shown(value)}: give a number of seconds.")


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:80] + "..."
