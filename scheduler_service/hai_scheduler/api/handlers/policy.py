"""Endpoints on policy numbers: which are in force, and changes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from typing import Final

from hai_scheduler.api.server.preconditions import expectation
from hai_scheduler.api.server.route import Ask, Batch, Stream, StreamMessage
from hai_scheduler.api.wire.cluster import AssumptionOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.policy import (
    PolicyChange,
    PolicyNumber,
    PolicyOut,
    PolicyTrial,
    PolicyValue,
    TrialOut,
    TrialProgressOut,
)
from hai_scheduler.sentences.assumptions import assumption
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.service.insight.trial import Trial, TrialAssumption
from hai_scheduler.service.platform.policy_changes import PolicyView
from hai_scheduler.service.shared.errors import Overtaken
from hai_scheduler.service.shared.orders import Told
from hai_scheduler.service.shared.policy_numbers import NUMBERS, written
from hai_scheduler.service.shared.policy_store import NumberOrigin


def policy_out(view: PolicyView) -> PolicyOut:
    """Return the model of the policy numbers, in the order of their table."""
    return PolicyOut(
        numbers=[
            PolicyNumber.of(
                number,
                common=_policy_value(view.default[number.name]),
                groups={group: _policy_value(numbers[number.name]) for group, numbers in view.groups.items()},
            )
            for number in NUMBERS
        ],
        groups=sorted(view.groups),
        trouble=view.trouble,
        warnings=list(view.warnings),
        version=view.version,
    )


def trial_out(say: Language, trial: Trial) -> TrialOut:
    """Return the model of a trial that has figures."""
    return TrialOut.of(trial, assumptions=[_assumption(say, one) for one in trial.assumptions])


def _assumption(say: Language, found: TrialAssumption) -> AssumptionOut:
    said = assumption(say, "trial", found.name, count=found.count, length=found.length)
    return AssumptionOut.of(found, sentence=said)


def _policy_value(origin: NumberOrigin) -> PolicyValue:
    value = origin.value
    return PolicyValue.of(origin, value=written(value), length_s=value if isinstance(value, timedelta) else None)


#: Seconds between two looks at the progress of a trial.
LOOK_EVERY: Final = 0.5


async def show(ask: Ask[Nothing, Nothing]) -> PolicyOut:
    """Return every policy number and where its value comes from."""
    return policy_out(await ask.platform.policy.view())


async def change(ask: Ask[Nothing, PolicyChange]) -> PolicyOut:
    """Set some policy numbers and reset others."""
    body = ask.body
    expected = expectation(ask.headers)
    weights = body.set.get("weights")
    if isinstance(weights, Mapping):
        await ask.meet(list(map(str, weights)))
    try:
        await ask.platform.policy.change(ask.caller, body.group, body.set, body.unset, expected=expected)
    except Overtaken as error:
        error.shown = policy_out(await ask.platform.policy.view()).model_dump(mode="json")
        raise
    return policy_out(await ask.platform.policy.view())


async def trial(ask: Ask[Nothing, PolicyTrial]) -> TrialOut | Stream:
    """Return the last days with other numbers or, if the request asks for it, a stream of progress and result."""
    if "text/event-stream" in ask.headers.get("Accept", ""):
        return Stream(_watched(ask))
    return trial_out(ask.caller.say, await _tried(ask))


async def _tried(ask: Ask[Nothing, PolicyTrial], told: Told | None = None) -> Trial:
    body = ask.body
    return await ask.platform.insight.previews.numbers(
        ask.caller, body.group, body.set, body.unset, days=body.days, told=told
    )


async def _watched(ask: Ask[Nothing, PolicyTrial]) -> AsyncGenerator[Batch, None]:
    """Yield the progress while it grows, then the result. A reader who goes away ends the computation."""
    reached = shown = 0.0

    def take(done: float) -> None:
        nonlocal reached
        reached = max(reached, done)

    computing = asyncio.ensure_future(_tried(ask, take))
    try:
        while not (await asyncio.wait({computing}, timeout=LOOK_EVERY))[0]:
            if reached > shown:
                shown = reached
                yield [StreamMessage("progress", TrialProgressOut(done=round(shown, 4)).model_dump_json())]
            else:
                yield []
        yield [StreamMessage("result", trial_out(ask.caller.say, computing.result()).model_dump_json())]
        yield [StreamMessage("end", "{}")]
    finally:
        computing.cancel()
        await asyncio.gather(computing, return_exceptions=True)
