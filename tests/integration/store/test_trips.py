"""What a statement costs beside itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import text

from hai_scheduler.store.engine import connect, parse


async def test_a_statement_goes_to_the_threads_of_sqlite_once(tmp_path: Path) -> None:
    engine = connect(parse(f"sqlite:///{tmp_path / 'x.sqlite'}"))
    try:
        async with engine.connect() as connection:
            await connection.execute(text("CREATE TABLE t (x INTEGER)"))
            await connection.execute(text("INSERT INTO t VALUES (:x)"), [{"x": 1}, {"x": 2}])
            driver: Any = (await connection.get_raw_connection()).driver_connection
            trips, execute = [], driver._execute

            async def counted(function: Any, *args: Any) -> Any:
                trips.append(function)
                return await execute(function, *args)

            driver._execute = counted
            found = await connection.execute(text("SELECT x FROM t ORDER BY x"))
            assert found.scalars().all() == [1, 2]
            assert (await connection.execute(text("UPDATE t SET x = 3"))).rowcount == 2
            assert len(trips) == 2
    finally:
        await engine.dispose()


async def test_nothing_is_rolled_back_that_was_committed(tmp_path: Path) -> None:
    engine = connect(parse(f"sqlite:///{tmp_path / 'x.sqlite'}"))
    trips: list[str] = []
    try:
        async with engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
        execute = driver._execute

        async def counted(function: Any, *args: Any) -> Any:
            trips.append(getattr(function, "__name__", ""))
            return await execute(function, *args)

        driver._execute = counted
        async with engine.begin() as connection:
            await connection.execute(text("CREATE TABLE t (x INTEGER)"))
        assert trips.count("rollback") == 0
        async with engine.connect() as connection:
            await connection.execute(text("INSERT INTO t VALUES (1)"))
        assert trips.count("rollback") == 1
        async with engine.connect() as connection:
            assert (await connection.execute(text("SELECT count(*) FROM t"))).scalar_one() == 0
    finally:
        await engine.dispose()
