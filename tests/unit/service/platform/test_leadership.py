"""Which replica leads, and what each replica says of it: a dead predecessor, an unsure lease, clocks that jump."""

from __future__ import annotations

import pytest

from unit.service.two_replicas import Pair


async def test_the_lease_of_a_predecessor_that_is_known_to_be_dead_counts_no_more() -> None:
    pair = await Pair().open()
    first, second = (replica.loop.cycle.leadership for replica in pair.replicas)
    second.predecessor = "somebody else"
    assert not await second.seek(), "the lease in force is another's"
    second.predecessor = first.world.holder
    assert await second.seek()
    assert second.held is not None
    assert first.held is not None
    assert second.held.token > first.held.token, "what the dead one may have left half done is refused"
    assert second.held.expires_at <= pair.clock.now() + second.settings.lease_length


async def test_a_predecessor_whose_clock_was_ahead_is_followed_at_once_too() -> None:
    pair = await Pair(ahead=3600).open()
    first, second = (replica.loop.cycle.leadership for replica in pair.replicas)
    if first.held is None:
        first, second = second, first
    second.predecessor = first.world.holder
    assert await second.seek()


async def leaders(pair: Pair) -> list[str]:
    """Which loop leads, as each replica answers a probe."""
    return [await replica.platform.readiness.leader() for replica in pair.replicas]


async def test_a_replica_that_has_not_confirmed_its_lease_does_not_say_that_it_leads() -> None:
    pair = await Pair().open()
    first, second = pair.replicas
    assert await leaders(pair) == ["this", "another"]
    await pair.clock.advance(2)
    assert await leaders(pair) == ["this", "another"]
    await pair.clock.advance(3.5)
    assert first.loop.cycle.latest_plan.leading, "it has been paused, or its database does not answer"
    assert await leaders(pair) == ["nobody", "nobody"]
    assert await second.tick()
    assert await leaders(pair) == ["another", "this"]
    await first.tick()
    assert await leaders(pair) == ["another", "this"]


async def test_a_leader_whose_clock_is_put_forward_confirms_its_lease_and_leads_on() -> None:
    pair = await Pair().open()
    pair.clock.put_forward(3600)
    assert pair.replicas[0].loop.cycle.leadership.sure
    assert await pair.replicas[0].tick()
    assert await leaders(pair) == ["this", "another"]


@pytest.mark.parametrize("pauses", [0.0, 2.4, 2.6, 5.1])
async def test_two_never_say_at_once_that_they_lead(pauses: float) -> None:
    """This holds for every moment of the pause, and for questions between any two steps of the other replica."""
    pair = await Pair().open()
    first, second = pair.replicas
    for _ in range(6):
        await pair.clock.advance(pauses)
        await first.tick()
        for _ in range(12):
            await pair.clock.advance(0.5)
            await second.tick()
            assert (await leaders(pair)).count("this") <= 1
