"""Endpoints on policy numbers: which are in force, and changes of them."""

from __future__ import annotations

from hai_scheduler.api.convert import policy as policy_convert
from hai_scheduler.api.server.preconditions import expectation
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.policy import PolicyChange, PolicyOut
from hai_scheduler.service.policy.numbers import former_name_note
from hai_scheduler.service.shared.errors import Overtaken


async def show(ask: Ask[Nothing, Nothing]) -> PolicyOut:
    """Return every policy number and where its value comes from."""
    return policy_convert.policy_out(await ask.services.policy.view())


async def change(ask: Ask[Nothing, PolicyChange]) -> PolicyOut:
    """Set some policy numbers and reset others."""
    body = ask.body
    expected = expectation(ask.headers)
    try:
        await ask.services.policy.change(ask.caller, body.group, body.set, body.unset, expected=expected)
    except Overtaken as error:
        error.shown = policy_convert.policy_out(await ask.services.policy.view()).model_dump(mode="json")
        raise
    notes = [note for name in (*body.set, *body.unset) if (note := former_name_note(name)) is not None]
    return policy_convert.policy_out(await ask.services.policy.view(), notes)
