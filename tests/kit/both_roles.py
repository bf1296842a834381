"""The use cases of both processes of the service, the loop and the API, in the one process of a test or benchmark."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.api.server.services import Services
from hai_scheduler.app.compose import assemble_api
from hai_scheduler.app.loop import assemble_loop
from hai_scheduler.app.opening import Adapters
from hai_scheduler.app.world import SharedViews
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.notifying.notifier import Notifier
from hai_scheduler.service.scheduling.cycle import Cycle
from hai_scheduler.service.scheduling.follower import Follower
from hai_scheduler.service.scheduling.housekeeping import Housekeeping
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.pin_references import PinReferences
from hai_scheduler.service.workspace.rank_env import RankLocations


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The use cases of both roles on the same adapters."""

    cycle: Cycle
    follower: Follower
    services: Services
    housekeeping: Housekeeping
    references: PinReferences
    code: CodeSnapshots
    notifier: Notifier


def assemble(
    adapters: Adapters,
    settings: ServiceSettings,
    *,
    tokens: RunTokens,
    locations: RankLocations,
    holder: str,
    predecessor: str | None = None,
) -> Parts:
    """Build the use cases of both roles in one process.

    They share one `LatestPlan`, which the ticks renew while this process leads.

    The arguments are those of `assemble_loop` and `assemble_api`. Nothing is started.
    """
    views = SharedViews.of(settings)
    loop = assemble_loop(
        adapters, settings, tokens=tokens, locations=locations, holder=holder, predecessor=predecessor, views=views
    )
    api = assemble_api(adapters, settings, locations=locations, holder=holder, views=views)
    return Parts(
        cycle=loop.cycle,
        follower=api.follower,
        services=api.services,
        housekeeping=loop.housekeeping,
        references=loop.references,
        code=loop.code,
        notifier=loop.notifier,
    )
