"""A service with two nodes whose database can be taken back."""

from __future__ import annotations

import pytest

from unit.service.origin.restored_world import World


@pytest.fixture
async def world() -> World:
    world = World(nodes=2)
    await world.open()
    return world
