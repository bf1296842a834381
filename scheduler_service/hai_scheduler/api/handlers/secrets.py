"""Endpoints on users' secrets."""

from __future__ import annotations

from hai_scheduler.api.server.route import Ask, RawBytes
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.secrets import OwnSecretOut, ResealedOut, SecretList
from hai_scheduler.core.model.limits import LEAST_REDACTED
from hai_scheduler.core.model.secret_refs import SecretFacts

#: How many lost secrets an answer names.
_NAMED = 100


def secret_out(facts: SecretFacts) -> OwnSecretOut:
    """Return the model of a secret."""
    return OwnSecretOut.of(facts, redacted=facts.size >= LEAST_REDACTED)


async def show_all(ask: Ask[Nothing, Nothing]) -> SecretList:
    """Return the caller's secrets."""
    return SecretList(items=[secret_out(one) for one in await ask.platform.workspace.secrets.show_all(ask.caller)])


async def put(ask: Ask[Nothing, RawBytes]) -> OwnSecretOut:
    """Set a secret of the caller."""
    return secret_out(await ask.platform.workspace.secrets.put(ask.caller, ask.path["secret"], bytes(ask.body)))


async def delete(ask: Ask[Nothing, Nothing]) -> None:
    """Remove a secret of the caller."""
    await ask.platform.workspace.secrets.remove(ask.caller, ask.path["secret"])


async def reseal(ask: Ask[Nothing, Nothing]) -> ResealedOut:
    """Seal the secrets of all users with the newest key."""
    done = await ask.platform.workspace.secrets.reseal(ask.caller)
    return ResealedOut.of(done, lost=len(done.lost), lost_names=done.lost[:_NAMED])
