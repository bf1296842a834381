"""Who is rung when something has changed."""

from __future__ import annotations

from hai_scheduler.core.lifecycle.transitions import Kill, RingNotice
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.service.shared.doorbell import ring_notices
from hai_scheduler.service.shared.topics import run_topic
from unit.service.two_replicas import Pair


async def test_only_notices_are_rung_by_who_may_not_act() -> None:
    pair = Pair()
    run = RunId("7.1")
    async with pair.bus.listen(run_topic(run)) as ears:
        await ring_notices(pair.bus, [Kill(run)])
        assert not await ears.wait(0)
        await ring_notices(pair.bus, [Kill(run), RingNotice(run)])
        assert await ears.wait(0)
    assert pair.cluster.record.kills == []
