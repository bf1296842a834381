"""Endpoints on policy numbers: which are in force, and changes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Final

from hai_scheduler.api.convert import policy as policy_convert
from hai_scheduler.api.server.preconditions import expectation
from hai_scheduler.api.server.route import Ask, Batch, Stream, StreamMessage
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.policy import PolicyChange, PolicyOut, PolicyTrial, TrialOut, TrialProgressOut
from hai_scheduler.service.insight.trial import Trial
from hai_scheduler.service.shared.errors import Overtaken
from hai_scheduler.service.shared.orders import Told

#: Seconds between two looks at the progress of a trial.
LOOK_EVERY: Final = 0.5


async def show(ask: Ask[Nothing, Nothing]) -> PolicyOut:
    """Return every policy number and where its value comes from."""
    return policy_convert.policy_out(await ask.platform.policy.view())


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
        error.shown = policy_convert.policy_out(await ask.platform.policy.view()).model_dump(mode="json")
        raise
    return policy_convert.policy_out(await ask.platform.policy.view())


async def trial(ask: Ask[Nothing, PolicyTrial]) -> TrialOut | Stream:
    """Return the last days with other numbers or, if the request asks for it, a stream of progress and result."""
    if "text/event-stream" in ask.headers.get("Accept", ""):
        return Stream(_watched(ask))
    return policy_convert.trial_out(ask.caller.say, await _tried(ask))


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
        yield [StreamMessage("result", policy_convert.trial_out(ask.caller.say, computing.result()).model_dump_json())]
        yield [StreamMessage("end", "{}")]
    finally:
        computing.cancel()
        await asyncio.gather(computing, return_exceptions=True)
