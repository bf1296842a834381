"""Folders of a run without their access rights: other runs do not have to wait, and the run can be ended."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from hai_client.rank.records import rank_records as records
from hai_scheduler.adapters.local import rights
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Temporary
from integration.rank.test_damage import NEIGHBOUR, neighbour, state_of, world
from integration.rank.test_local_cluster import RUN, World

__all__ = ["world"]

_VERSION_3 = 0x20080522
#: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: the modes of files do not stop a process that has them.
_PASSES = (1 << 1) | (1 << 2)


@pytest.fixture
def modes_matter() -> Iterator[None]:
    """Make file modes count for this thread and its children, although it may run as root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # Twice effective, permitted and inheritable: the lower half, the upper half.
    before = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, before) == 0
    less = (ctypes.c_uint32 * 6)(*before)
    less[0] &= ~_PASSES
    assert libc.capset(header, less) == 0
    yield
    assert libc.capset(header, before) == 0


def take_away(world: World, what: str) -> Path:
    """Remove all access rights to a part of the run's folder; returns its path."""
    run = world.rank_folder().parent
    path = {"task": run.parent, "run": run, "rank": run / "0"}.get(what, run / "0" / what)
    path.chmod(0)
    return path


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("what", ["task", "run", "rank", "status.json", "lock", "spec.json", "token"])
async def test_a_live_run_whose_rights_are_taken_away_stops_no_other_and_can_be_ended(
    world: World, modes_matter: None, what: str, shared: bool
) -> None:
    cluster = world.open(shared=shared)
    await cluster.launch(world.launch("sleep 600"))
    await state_of(cluster, RUN, RankState.RUNNING)
    await neighbour(world, cluster)
    take_away(world, what)
    later = world.open(shared=shared)
    for each in (cluster, later):
        seen = {run.run_id: [rank.state for rank in run.ranks] for run in await each.observe()}
        assert seen == {RUN: [RankState.RUNNING], NEIGHBOUR: [RankState.RUNNING]}
        take_away(world, what)
    await later.kill(RUN)
    assert (await state_of(later, RUN, RankState.EXITED)).exit_code == 143
    take_away(world, what)
    await later.forget(RUN)
    assert not world.rank_folder().exists()
    await state_of(later, NEIGHBOUR, RankState.RUNNING)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("what", ["task", "run", "rank"])
async def test_where_rights_cannot_be_given_back_a_live_rank_is_neither_lost_nor_in_the_way(
    world: World, modes_matter: None, monkeypatch: pytest.MonkeyPatch, what: str, shared: bool
) -> None:
    first = world.open(shared=shared)
    await first.launch(world.launch("sleep 600"))
    await state_of(first, RUN, RankState.RUNNING)
    await neighbour(world, first)
    with monkeypatch.context() as patch:
        # As if the folder belonged to another account.
        patch.setattr(rights, "_grant", lambda _: False)
        path = take_away(world, what)
        known = await state_of(first, RUN, RankState.RUNNING)
        assert "cannot be read: Permission denied" in known.message
        later = world.open(shared=shared)
        new = await state_of(later, RUN, RankState.PENDING)
        assert "cannot be read: Permission denied" in new.message
        for cluster in (first, later):
            await state_of(cluster, NEIGHBOUR, RankState.RUNNING)
            with pytest.raises(Temporary, match=r"run 5\.1 cannot be ended"):
                await cluster.kill(RUN)
        path.chmod(0o700)
    for cluster in (first, later):
        assert (await state_of(cluster, RUN, RankState.RUNNING)).message is None


@pytest.mark.parametrize("what", ["5", "5/1", "5/1/0"])
async def test_a_link_in_the_place_of_a_folder_is_not_followed(
    world: World, modes_matter: None, tmp_path: Path, what: str
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    cluster = world.open()
    await neighbour(world, cluster)
    place = world.settings.runs_dir / what
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(secret)
    secret.chmod(0)
    later = world.open(shared=True)
    await state_of(later, NEIGHBOUR, RankState.RUNNING)
    assert secret.stat().st_mode & 0o777 == 0
    place.unlink()


@pytest.mark.parametrize("name", ["9" * 20 + "/1", "9" * 63 + "/1", "7/" + "9" * 20])
async def test_numbers_that_no_store_can_keep_are_none_of_ours(world: World, name: str) -> None:
    (world.settings.runs_dir / name / "0").mkdir(parents=True)
    (world.settings.runs_dir / name / "0" / "begun").touch()
    assert await world.open().observe() == []


@pytest.mark.parametrize("code", ["[1]", "true", "256", "-1", "1" + "0" * 30, "1.0", '"1"'])
async def test_an_end_with_what_is_no_exit_status_has_none(world: World, code: str) -> None:
    cluster = world.open()
    await cluster.launch(world.launch("true"))
    await state_of(cluster, RUN, RankState.EXITED)
    text = f'{{"schema": 1, "state": "exited", "exit_code": {code}, "start_error": "forged"}}'
    (world.rank_folder() / "status.json").write_text(text)
    later = await state_of(world.open(), RUN, RankState.EXITED)
    assert (later.exit_code, later.start_error) == (None, "forged")


def test_a_folder_that_cannot_be_looked_at_now_is_not_taken_for_a_removed_one(
    tmp_path: Path, modes_matter: None
) -> None:
    rank = tmp_path / "run" / "0"
    rank.mkdir(parents=True)
    rank.parent.chmod(0)
    try:
        assert not records.is_removed(str(rank))
    finally:
        rank.parent.chmod(0o700)
    assert records.is_removed(str(rank / "none"))
