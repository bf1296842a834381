"""What admins can try before they do it: whose requests are computed, and which are refused before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.service.insight.previews import Previews
from hai_scheduler.service.shared.errors import Forbidden, NotFound, Unavailable
from hai_scheduler.service.shared.latest_plan import LatestPlan
from unit.service.service_world import ADMIN, Service, user


async def test_a_mark_is_tried_by_admins_on_nodes_that_there_are() -> None:
    previews = (await Service(nodes=2).open()).platform.insight.previews
    with pytest.raises(Forbidden):
        await previews.mark(user("ann"), ["node-1"], NodeMark.DRAINING)
    with pytest.raises(NotFound, match="'node-9'"):
        await previews.mark(ADMIN, ["node-1", "node-9"], NodeMark.DRAINING)
    found = await previews.mark(ADMIN, ["node-2", "node-1", "node-2"], NodeMark.DRAINING)
    assert (found.nodes, found.displaced, found.later) == (("node-1", "node-2"), (), ())


async def test_nothing_is_tried_before_the_nodes_are_known() -> None:
    service = await Service().open()
    plan = LatestPlan(nodes=service.platform.world.latest_plan.nodes)
    previews: Previews = replace(
        service.platform.insight.previews, world=replace(service.platform.world, latest_plan=plan)
    )
    with pytest.raises(Unavailable):
        await previews.mark(ADMIN, ["node-1"], NodeMark.CORDONED)
    with pytest.raises(Unavailable):
        await previews.numbers(ADMIN, None, {"slice": "1h"}, ())


async def test_the_progress_of_a_trial_is_told() -> None:
    service = await Service(nodes=1).open()
    await service.submit("runs", "ann")
    for _ in range(3):
        await service.step(60)
    told: list[float] = []
    found = await service.platform.insight.previews.numbers(ADMIN, None, {"slice": "1h"}, (), told=told.append)
    assert found.tasks == 1
    assert told[-1] == 1.0
