"""How far each database has come, in a ConfigMap: over restarts, against another leader, and when it is spoilt."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hai_scheduler.adapters.kubernetes.names import MARKS
from hai_scheduler.core.model.ids import Origin
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.lineage import Superseded

MARK = Mark(database="a1b2", epoch=2, steps=10, task=7, number=3)


async def test_a_new_namespace_has_none(cluster) -> None:
    assert await cluster.marks() == []


async def test_the_latest_of_every_database_is_kept_over_restarts(server, cluster, opened) -> None:
    other, later = replace(MARK, database="c3d4", epoch=1), replace(MARK, steps=11, task=9)
    for mark in (MARK, other, MARK, later):
        await cluster.put_mark(mark)
    assert sorted(await opened().marks(), key=lambda mark: mark.database) == [later, other]
    assert list(server.objects["configmaps"]) == [MARKS]


@pytest.mark.parametrize("field", ["epoch", "steps", "task", "number"])
async def test_one_that_goes_back_is_refused_and_changes_nothing(cluster, opened, field) -> None:
    await cluster.put_mark(MARK)
    with pytest.raises(Superseded, match="a1b2"):
        await opened().put_mark(replace(MARK, **{field: getattr(MARK, field) - 1}))
    assert await opened().marks() == [MARK]


async def test_a_leader_that_was_followed_by_another_learns_it_when_it_writes(cluster, opened) -> None:
    await cluster.put_mark(MARK)
    await opened().put_mark(replace(MARK, steps=12))
    with pytest.raises(Temporary):
        await cluster.put_mark(replace(MARK, steps=11))
    with pytest.raises(Superseded):
        await cluster.put_mark(replace(MARK, steps=11))
    assert (await opened().marks())[0].steps == 12


async def test_one_that_an_admin_deletes_is_made_again(server, cluster) -> None:
    await cluster.put_mark(MARK)
    server.remove("configmaps", MARKS)
    with pytest.raises(Temporary, match="removed"):
        await cluster.put_mark(replace(MARK, steps=11))
    await cluster.put_mark(replace(MARK, steps=11))
    assert (await cluster.marks())[0].steps == 11


async def test_one_that_cannot_be_understood_is_no_reason_to_begin_again(server, cluster) -> None:
    await cluster.put_mark(MARK)
    made = server.objects["configmaps"][MARKS]
    server.put("configmaps", {**made, "data": {"a1b2": "{}"}})
    with pytest.raises(Temporary, match="cannot be understood"):
        await cluster.marks()


async def test_a_right_that_is_missing_is_named(server, cluster) -> None:
    server.fail("GET", f"/{MARKS}", 403, body="configmaps is forbidden")
    with pytest.raises(Temporary, match="configmaps is forbidden"):
        await cluster.marks()


@pytest.mark.parametrize(
    "data",
    [
        {"a1b2": "{"},
        {"a1b2": "[]"},
        {"a1b2": "null"},
        {"a1b2": '{"epoch": "x", "steps": 1, "task": 1, "number": 1}'},
        {"a1b2": '{"epoch": 1, "steps": 1, "task": 1}'},
        {"c3d4": "", "a1b2": '{"epoch": 2, "steps": 10, "task": 7, "number": 3}'},
    ],
)
async def test_nothing_is_written_over_marks_that_cannot_be_understood(server, cluster, opened, data) -> None:
    """Without the marks an id might be given twice."""
    await cluster.put_mark(MARK)
    server.put("configmaps", {**server.objects["configmaps"][MARKS], "data": data})
    with pytest.raises(Temporary, match=f"{MARKS} cannot be understood.*correct it, or delete it"):
        await opened().put_mark(replace(MARK, steps=11))
    assert server.objects["configmaps"][MARKS]["data"] == data


async def test_a_configmap_without_data_has_no_marks(server, cluster) -> None:
    server.put("configmaps", {"metadata": {"name": MARKS}})
    assert await cluster.marks() == []


async def test_after_a_write_that_failed_the_marks_are_read_again(server, cluster) -> None:
    """How a write that was cut off ended is not known."""
    await cluster.put_mark(MARK)
    server.fail("PATCH", f"/{MARKS}", 403, body="configmaps is forbidden")
    with pytest.raises(Temporary, match=r"cannot be written: .*configmaps is forbidden"):
        await cluster.put_mark(replace(MARK, steps=11))
    reads = server.count("GET", f"/{MARKS}")
    await cluster.put_mark(replace(MARK, steps=11))
    await cluster.put_mark(replace(MARK, steps=12))
    assert server.count("GET", f"/{MARKS}") == reads + 1


async def test_two_processes_that_make_it_at_once_do_not_overwrite_each_other(server, opened) -> None:
    first, second = opened()._marks, opened()._marks
    assert await second.all() == []
    await first.put(MARK)
    with pytest.raises(Temporary, match="made by another process"):
        await second.put(replace(MARK, database="c3d4"))
    await second.put(replace(MARK, database="c3d4"))
    assert set(server.objects["configmaps"][MARKS]["data"]) == {"a1b2", "c3d4"}
    assert json.loads(server.objects["configmaps"][MARKS]["data"]["a1b2"]) == {
        "epoch": 2, "steps": 10, "task": 7, "number": 3,
    }  # fmt: skip


async def test_whose_a_run_is_is_known_for_certain_once_this_process_has_led(cluster) -> None:
    marks = cluster._marks
    ours, theirs = Origin("a1b2", 1), Origin("c3d4", 1)
    assert [marks.is_own(origin) for origin in (None, ours, theirs)] == [True, False, False]
    assert [marks.is_anothers(origin) for origin in (None, ours, theirs)] == [False, False, False]
    await marks.put(MARK)
    assert [marks.is_own(origin) for origin in (None, ours, theirs)] == [True, True, False]
    assert [marks.is_anothers(origin) for origin in (None, ours, theirs)] == [False, False, True]
