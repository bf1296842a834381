"""When a task would start and what is assumed, in the user's language.

The service says it in English, with data. In English its sentence is shown; in other languages one is made of the data.
What is not known here, or lacks data, is shown as the service says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from hai_client.cli.language.catalogue import is_english, say, say_in, sentences
from hai_client.cli.language.verdicts import verdict, who
from hai_client.cli.language.words import duration, node_list, when
from hai_client.cli.shared.output import local_times
from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_client.wire.explain import Forecast, ForecastAssumption
from hai_client.wire.schema import Holder

#: How long the steps of a forecast over a long queue are, in the service's sentence.
_STEP = re.compile(r"looked at every ([^,]+),")


def forecast(found: Forecast) -> str:
    """Return when a task would start, as a sentence."""
    say_it = None if is_english() else OUTCOMES.get(found.outcome)
    said = None if say_it is None else say_it(found)
    return local_times(found.sentence, now=found.at) if said is None else said


def _now(found: Forecast) -> str:
    return say("It would start now, on %1.", node_list(found.nodes)) if found.nodes else say("It would start now.")


def _later(found: Forecast) -> str | None:
    at = when(found.starts_at, found.at)
    if at is None:
        return None
    first = (
        say("It would start at %1, on %2.", at, node_list(found.nodes))
        if found.nodes
        else say("It would start at %1.", at)
    )
    costs = tuple(
        Holder(task_id=one.task_id, name="", user=one.user, priority=one.priority, nodes=one.nodes, gpus=one.gpus)
        for one in found.suspends
    )
    return sentences(first, say("These make room before: %1.", who(costs)) if costs else None)


def _never(found: Forecast) -> str:
    why = None if found.verdict is None else verdict(found.verdict, now=found.at)
    return sentences(say("Nothing that is foreseen would let it start."), why)


#: By outcome: the sentence; None: the data do not suffice.
OUTCOMES: Mapping[str, Callable[[Forecast], str | None]] = {
    "now": _now,
    "later": _later,
    "beyond_horizon": lambda found: say("It would not start within %1.", duration(found.horizon_s)),
    "beyond_computed": lambda found: say(
        "It would not start within %1; what comes then is beyond what was computed.",
        duration((found.computed_until - found.at).total_seconds()),
    ),
    "never": _never,
    "running": lambda found: say("It has its nodes already: %1.", node_list(found.nodes)),
}


def assumption(found: ForecastAssumption, *, now: datetime | None = None) -> str:
    """Return an assumption of a forecast, as a sentence."""
    say_it = None if is_english() else ASSUMPTIONS.get(found.name)
    said = None if say_it is None else say_it(found)
    return local_times(found.sentence, now=now) if said is None else said


def _lengths(found: ForecastAssumption) -> str | None:
    if not set(found.tasks) <= set(BASES):
        return None
    known = [
        say_in("how many, and how it is known", "%1 %2", count, BASES[basis]()) for basis, count in found.tasks.items()
    ]
    return say("How long the tasks of the group run: %1.", ", ".join(known))


def _steps(found: ForecastAssumption) -> str | None:
    step = _STEP.search(found.sentence)
    try:
        every = None if step is None else duration(parse_duration(step[1]))
    except Invalid:
        return None
    text = "The queue is long: it is looked at every %1, so each turn in it may end that much late."
    return None if every is None else say(text, every)


#: By the source of the assumed length of a task: how it is known.
BASES: Mapping[str, Callable[[], str]] = {
    "progress": lambda: say("by the steps that they report"),
    "time_limit": lambda: say("by their time limits"),
    "name": lambda: say("as their user's tasks of the same name did"),
    "size": lambda: say("as their user's tasks of the same size did"),
    "group": lambda: say("as tasks of the group did"),
    "unknown": lambda: say("unknown, taken as without an end"),
}

#: By name: the sentence; None: the data do not suffice.
ASSUMPTIONS: Mapping[str, Callable[[ForecastAssumption], str | None]] = {
    "lengths": _lengths,
    "submissions": lambda _: say("Until then there are no other submissions, changes or failures."),
    "leaving": lambda _: say("A task that is told to leave takes as long as the last time, else all of its grace."),
    "checkpoints": lambda _: say("Checkpoints that running tasks will still make are not foreseen."),
    "steps": _steps,
    "held": lambda _: say("It is held: counted as if it were resumed now."),
}
