"""Empty databases for the tests of tables and migrations; on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from hai_scheduler.store.engine import connect, parse
from kit.databases import empty_url


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    return await empty_url(request.param, tmp_path)


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = connect(parse(url))
    yield engine
    await engine.dispose()
