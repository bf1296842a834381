"""Policy numbers: what is in force, and changes to it."""

from __future__ import annotations

from hai_scheduler.api.convert import policy as policy_convert
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.policy import PolicyChange, PolicyOut


async def show(ask: Ask[Nothing, Nothing]) -> PolicyOut:
    """Every number and where it comes from."""
    return policy_convert.policy_out(await ask.services.policy.view())


async def change(ask: Ask[Nothing, PolicyChange]) -> PolicyOut:
    """Set some numbers and take others back."""
    body = ask.body
    await ask.services.policy.change(ask.caller, body.group, body.set, body.unset)
    return policy_convert.policy_out(await ask.services.policy.view())
