"""Which runs of a folder a service knows, alone or beside others that use the folder too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.local import known_runs as module
from hai_scheduler.adapters.local.folders import RunFolder
from hai_scheduler.adapters.local.known_runs import KnownRuns
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Absent, Temporary

RUN = RunId("5.1")


class NoStarter:
    """Starts nothing: these tests start no supervisor."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def service(root: Path, *, shared: bool = False) -> KnownRuns:
    starter: Any = NoStarter()
    return KnownRuns(root, starter, shared=shared)


def prepared(root: Path, run_id: str = RUN, *ranks: int) -> RunFolder:
    """The folder of a run with these ranks, rank 0 unless others are named."""
    run = RunFolder(root, RunId(run_id))
    run.make()
    for rank in ranks or (0,):
        run.rank(rank).prepare({"run_id": run_id, "rank": rank, "node": "n"}, "token")
    return run


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def names(runs: KnownRuns) -> list[str]:
    return sorted(str(run.folder.run_id) for run in runs.all())


async def test_the_first_look_makes_the_folder_and_finishes_what_was_being_removed(root: Path) -> None:
    runs = service(root)
    await runs.load()
    assert (names(runs), mode(root)) == ([], 0o700)
    prepared(root)
    (root / ".gone-1" / "0").mkdir(parents=True)
    later = service(root)
    await later.load()
    assert names(later) == ["5.1"]
    assert not (root / ".gone-1").exists()


async def test_a_service_that_is_alone_reads_the_folder_once(root: Path) -> None:
    runs = service(root)
    await runs.load()
    prepared(root)
    await runs.load()
    assert names(runs) == []


async def test_a_service_that_shares_the_folder_hears_of_runs_and_ranks_of_others(root: Path) -> None:
    runs = service(root, shared=True)
    await runs.load()
    folder = prepared(root)
    await runs.load()
    first = runs.get(RUN)
    assert first is not None
    assert list(first.ranks) == [0]
    folder.rank(1).prepare({"run_id": RUN, "rank": 1}, "token")
    await runs.load()
    assert runs.get(RUN) is first
    assert list(first.ranks) == [0, 1]


async def test_a_run_that_another_service_has_forgotten_is_forgotten_and_let_go(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = service(root, shared=True)
    folder = prepared(root)
    await runs.load()
    let_go: list[str] = []
    monkeypatch.setattr(module.LocalRun, "let_go", lambda run: let_go.append(run.folder.run_id))
    folder.remove()
    await runs.load()
    assert (names(runs), let_go, list(runs.live())) == ([], ["5.1"], [])


async def test_a_run_that_is_being_launched_here_is_not_forgotten_though_it_has_no_folder_yet(root: Path) -> None:
    runs = service(root, shared=True)
    await runs.load()
    taken = runs.take(RunFolder(root, RUN))
    assert runs.take(RunFolder(root, RUN)) is taken
    await runs.load()
    assert runs.get(RUN) is taken


async def test_only_runs_that_may_have_a_process_left_are_looked_at_often(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = service(root)
    prepared(root, "5.1", 0, 1)
    prepared(root, "6.1")
    await runs.load()
    assert sorted((rank.folder.run_id, rank.folder.rank) for rank in runs.live()) == [
        ("5.1", 0),
        ("5.1", 1),
        ("6.1", 0),
    ]
    ended = runs.get(RUN)
    monkeypatch.setattr(module.LocalRun, "gone", property(lambda run: run is ended))
    runs.note_ended()
    assert [rank.folder.run_id for rank in runs.live()] == ["6.1"]
    assert ended is not None
    runs.note_going(ended)
    assert [rank.folder.run_id for rank in runs.live()] == ["6.1", "5.1", "5.1"]


async def test_a_run_that_is_dropped_is_not_known_any_more(root: Path) -> None:
    runs = service(root)
    prepared(root)
    await runs.load()
    runs.drop(RUN)
    runs.drop(RUN)
    assert (names(runs), runs.get(RUN), list(runs.live())) == ([], None, [])


@pytest.mark.parametrize("shared", [False, True])
async def test_one_run_is_found_to_read_its_log(root: Path, shared: bool) -> None:
    prepared(root)
    runs = service(root, shared=shared)
    found = await runs.find(RUN)
    assert found is not None
    assert found.folder.run_id == RUN
    assert await runs.find(RunId("7.1")) is None


async def test_finding_one_run_beside_others_does_not_read_all_of_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(root)

    def never(*_: object) -> None:
        raise AssertionError("all runs were read")

    monkeypatch.setattr(module, "runs_in", never)
    assert await service(root, shared=True).find(RUN) is not None
    with pytest.raises(Absent):
        await service(root, shared=True).find(RunId("../1"))


async def test_a_folder_that_cannot_be_read_is_worth_another_try(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(root)

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    runs = service(root)
    with monkeypatch.context() as patch:
        patch.setattr(module, "runs_in", broken)
        with pytest.raises(Temporary, match="cannot be read: Input/output error"):
            await runs.load()
    await runs.load()
    assert names(runs) == ["5.1"]


async def test_a_run_that_cannot_be_read_now_hides_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = service(root, shared=True)
    prepared(root)
    await runs.load()
    prepared(root, "6.1")

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module.LocalRun, "catch_up", broken)
    await runs.load()
    assert names(runs) == ["5.1", "6.1"]


async def test_closing_lets_every_run_go(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = service(root)
    prepared(root)
    prepared(root, "6.1")
    await runs.load()
    let_go: list[str] = []
    monkeypatch.setattr(module.LocalRun, "let_go", lambda run: let_go.append(run.folder.run_id))
    runs.let_go()
    assert sorted(let_go) == ["5.1", "6.1"]
