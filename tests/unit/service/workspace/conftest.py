"""A service with an environment of haienv."""

from __future__ import annotations

import pytest

from hai_scheduler.ports.values import UserRecord
from unit.service.workspace.pinned_world import MINE, World


@pytest.fixture
async def world() -> World:
    made = World()
    await made.open()
    async with made.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"cv"})))
    made.environments.publish(MINE)
    return made
