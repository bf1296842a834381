"""Endpoints on the service itself: the caller, metrics, health, and probes of Kubernetes and load balancers."""

from __future__ import annotations

from hai_scheduler import __version__
from hai_scheduler.api.convert.people import own_quota_out
from hai_scheduler.api.server.metrics import CONTENT_TYPE_LATEST
from hai_scheduler.api.server.route import Ask, Text
from hai_scheduler.api.wire.cluster import HealthOut
from hai_scheduler.api.wire.identities import IdentityOut
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.platform import LiveOut, PartVersionOut, ReadyOut, VersionsOut
from hai_scheduler.api.wire.quota import MeOut
from hai_scheduler.service.workspace.identities import IdentityAnswer


async def live(ask: Ask[Nothing, Nothing]) -> LiveOut:  # noqa: ARG001 - every endpoint is called alike
    """Answer: the process is alive."""
    return LiveOut()


async def ready(ask: Ask[Nothing, Nothing]) -> ReadyOut:
    """Return which replica leads; an error says that no requests should be sent to this replica."""
    return ReadyOut(leader=await ask.platform.readiness.leader())


async def health(ask: Ask[Nothing, Nothing]) -> HealthOut:
    """Return whether the platform works. It is open to clients without a token, so the answer holds no names."""
    told = await ask.platform.health.look()
    return HealthOut(
        status="ok" if told.wrong is None else "degraded",
        version=__version__,
        last_tick_s=None if told.silence is None else told.silence.total_seconds(),
        detail=told.wrong,
        deciding=told.deciding,
    )


async def metrics(ask: Ask[Nothing, Nothing]) -> Text:
    """Return the metrics for Prometheus."""
    return Text(await ask.platform.prometheus.exposition(ask.platform.insight.queries), CONTENT_TYPE_LATEST)


async def versions(ask: Ask[Nothing, Nothing]) -> VersionsOut:
    """Return which version each part has."""
    parts, database = await ask.platform.insight.part_versions.look()
    return VersionsOut(
        service=__version__,
        parts=[PartVersionOut(part=one.part, version=one.version, count=one.count) for one in parts],
        revision=database.revision,
        known_revision=database.known_revision,
    )


async def me(ask: Ask[Nothing, Nothing]) -> MeOut:
    """Return the caller, with their scopes and quota, and who their processes are."""
    caller = ask.caller
    who = await ask.platform.workspace.identities.of(caller.name) if caller.kind == "user" else IdentityAnswer()
    return MeOut(
        name=caller.name,
        kind=caller.kind,
        admin=caller.admin,
        groups=sorted(caller.groups),
        scopes=sorted(caller.scopes),
        quota=[own_quota_out(view) for view in await ask.platform.insight.queries.own_quota(caller)],
        identity=None if who.identity is None else IdentityOut.of(who.identity),
        no_identity=who.why,
    )
