"""What counts as a checkpoint, by names and by what is open; and the sweep over folders."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hai_client.rank.complete import INDEX_S, SHORT_S
from hai_client.rank.evidence import Evidence, is_newer
from hai_client.rank.indexes import INDEX, MARKER, in_index
from hai_client.rank.openfiles import files_for_writing
from hai_client.rank.saves import STALL_S, Saves, is_below, is_record, looks_like_checkpoint
from hai_client.rank.spec import Spec
from hai_client.rank.sweep import Found, Sweep


@pytest.mark.parametrize(
    "name",
    [
        "model.pt", "MODEL.PTH", "epoch=3-step=50.ckpt", "model.safetensors", "pytorch_model.bin", "state.npz", "w.h5",
        "best.pkl", "model.pt.tmp", "model.pt.tmp.1234", ".model.pt.part", "model.ckpt.1234", "model.safetensors.tmp-7",
        "weights.data-00000-of-00001", "__0_0.distcp", "state.json.tmp", "model.pt~", "last.ckpt_tmp",
    ],
)  # fmt: skip
def test_names_of_checkpoints(name: str) -> None:
    assert looks_like_checkpoint(name)
    assert not is_record(name)


@pytest.mark.parametrize("name", ["train.py", "notes.txt", "core", "data.arrow", "model", "config.json", "pt"])
def test_other_names(name: str) -> None:
    assert not looks_like_checkpoint(name)


@pytest.mark.parametrize(
    "name", ["train.log", "events.out.tfevents.17.host.1.0", "metrics.csv", "a.lock", "r.wandb", INDEX]
)
def test_records_are_no_checkpoints_wherever_they_lie(name: str) -> None:
    assert is_record(name)


def test_what_is_below_a_folder() -> None:
    assert is_below("/a/b", ["/a"])
    assert is_below("/a", ["/a"])
    assert is_below("/a/b", ["/a/"])
    assert not is_below("/ab", ["/a"])


@pytest.fixture
def saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Saves:
    """Of this process, but for the files that other tests of the same worker have left open."""

    def ours(pids: list[int]) -> dict[str, int]:
        return {path: position for path, position in files_for_writing(pids).items() if is_below(path, [str(tmp_path)])}

    monkeypatch.setattr("hai_client.rank.saves.files_for_writing", ours)
    saves = Saves((str(tmp_path / "own"),))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "own").mkdir()
    saves.roots = (str(tmp_path / "checkpoints"),)
    return saves


def test_a_file_that_is_open_and_stands_still_is_no_save_that_goes_on(saves: Saves, tmp_path: Path) -> None:
    me = [os.getpid()]
    with (tmp_path / "checkpoints" / "state").open("w") as file:
        saves.look(me, 100.0)
        assert saves.going_on(100.0)
        assert not saves.going_on(100.0 + STALL_S)
        saves.look(me, 100.0 + STALL_S)
        assert saves.writing(me, 100.0 + STALL_S) == []
        file.write("x")
        file.flush()
        assert saves.writing(me, 100.0 + STALL_S) == [str(tmp_path / "checkpoints" / "state")]
        saves.look(me, 100.0 + STALL_S)
        assert saves.going_on(100.0 + STALL_S)
    saves.look(me, 101.0 + STALL_S)
    assert not saves.going_on(101.0 + STALL_S)
    assert saves.closed == [str(tmp_path / "checkpoints" / "state")]


def test_a_file_elsewhere_is_a_save_by_its_name_or_if_it_was_opened_after_the_notice(
    saves: Saves, tmp_path: Path
) -> None:
    me = [os.getpid()]
    with (tmp_path / "history").open("w"):
        saves.look(me, 100.0)
        saves.noticed(100.0)
        assert not saves.going_on(100.0)
        with (tmp_path / "new").open("w"):
            saves.look(me, 101.0)
            assert saves.going_on(101.0)
            assert saves.writing(me, 101.0) == [str(tmp_path / "new")]
        with (tmp_path / "own" / "model.pt").open("w"), (tmp_path / "train.log").open("w"):
            saves.look(me, 102.0)
            assert not saves.going_on(102.0)
        with (tmp_path / "model.pt").open("w"):
            saves.look(me, 103.0)
            assert saves.going_on(103.0)
            saves.tear(me)
    assert str(tmp_path / "model.pt") in saves.torn


def test_a_file_that_is_open_for_reading_is_none(saves: Saves, tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "model.pt").write_text("1")
    with (tmp_path / "checkpoints" / "model.pt").open():
        saves.look([os.getpid()], 100.0)
        assert not saves.going_on(100.0)


def sweep(*roots: Path, since: int = 0) -> Sweep:
    found = Sweep(since, lambda path: False)
    for root in roots:
        found.add(str(root))
    return found


def newest(found: Sweep) -> list[str]:
    return [Path(file.path).name for file in found.files]


def aged(path: Path, seconds: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1")
    at = time.time() - seconds
    os.utime(path, (at, at))
    return path


def test_the_newest_file_is_found_and_older_ones_than_the_run_do_not_count(tmp_path: Path) -> None:
    aged(tmp_path / "old" / "model.pt", 100)
    aged(tmp_path / "deep" / "er" / "b.pt", 10)
    aged(tmp_path / "a.pt", 20)
    aged(tmp_path / "wandb" / "c.pt", 1)
    aged(tmp_path / "train.log", 1)
    (tmp_path / "link").symlink_to(aged(tmp_path.parent / "elsewhere.pt", 1))
    found = sweep(tmp_path, since=time.time_ns() - 50 * 10**9)
    assert found.complete(60)
    assert newest(found) == ["a.pt", "b.pt"]


def test_a_time_in_the_future_is_the_moment_it_was_seen(tmp_path: Path) -> None:
    aged(tmp_path / "a.pt", -3600)
    found = sweep(tmp_path)
    found.complete(60)
    assert found.files[-1].at <= time.time_ns()


def test_a_look_stops_where_its_budget_ends_and_the_next_goes_on(tmp_path: Path) -> None:
    for number in range(100):
        aged(tmp_path / f"folder-{number % 7}" / f"{number}.pt", 1000 - number)
    found = sweep(tmp_path)
    looks = 1
    while not found.look(30, 60):
        looks += 1
        assert looks < 100
    assert looks >= 3
    assert newest(found)[-1] == "99.pt"


def test_new_files_beside_the_newest_are_found_though_a_pass_takes_long(tmp_path: Path) -> None:
    for number in range(2000):
        aged(tmp_path / "data" / f"{number // 100}" / f"{number}", 1000)
    aged(tmp_path / "checkpoints" / "checkpoint-1" / "model.pt", 30)
    found = sweep(tmp_path, since=time.time_ns() - 60 * 10**9)
    assert found.complete(60)
    aged(tmp_path / "checkpoints" / "checkpoint-2" / "model.pt", 20)
    aged(tmp_path / "checkpoints" / "last.pt", 10)
    assert not found.look(50, 60)
    assert newest(found) == ["model.pt", "model.pt", "last.pt"]


def test_the_first_checkpoint_of_a_run_is_found_among_many_old_folders(tmp_path: Path) -> None:
    for number in range(300):
        for part in range(5):
            aged(tmp_path / f"checkpoint-{number}" / f"model-{part}.pt", 1000)
        os.utime(tmp_path / f"checkpoint-{number}", (1, 1))
    found = sweep(tmp_path, since=time.time_ns() - 60 * 10**9)
    path = aged(tmp_path / "checkpoint-300" / "model.pt", 1)
    found.look(1300, 60)
    assert found.passes == 0
    assert [file.path for file in found.files] == [str(path)]


def test_a_file_that_grows_is_told_apart_from_one_that_was_replaced(tmp_path: Path) -> None:
    path = aged(tmp_path / "model.pt", 10)
    found = sweep(tmp_path)
    found.complete(60)
    aged(tmp_path / "draft", 5).replace(path)
    path.with_name("x").write_text("1")
    found.complete(60)
    assert found.grown_at == float("-inf")
    with path.open("a") as file:
        file.write("more")
    found.complete(60)
    assert found.grown_at > 0


def test_of_a_folder_that_was_learned_only_checkpoints_count(tmp_path: Path) -> None:
    aged(tmp_path / "notes.txt", 1)
    aged(tmp_path / "model.pt", 2)
    aged(tmp_path / "below" / "other.pt", 1)
    found = sweep()
    found.learn(str(tmp_path))
    found.complete(60)
    assert newest(found) == ["model.pt"]


def test_a_folder_of_checkpoints_that_was_expected_is_not_learned(tmp_path: Path) -> None:
    found = sweep(tmp_path / "here")
    found.learn(str(tmp_path / "here" / "step-1"))
    assert not found.learned
    found.learn(str(tmp_path / "elsewhere"))
    assert found.learned


def test_a_root_may_be_a_file_and_its_neighbours_do_not_count(tmp_path: Path) -> None:
    path = aged(tmp_path / "mine", 5)
    aged(tmp_path / "other.pt", 1)
    found = sweep(path)
    found.complete(60)
    found.complete(60)
    assert newest(found) == ["mine"]
    path.unlink()
    found.complete(60)
    assert newest(found) == []


def evidence_of(tmp_path: Path, since: int = 0, **env: str) -> Evidence:
    data = {
        "schema": 1, "run_id": "41.2", "rank": 0, "command": ["true"], "cwd": str(tmp_path), "profile": "auto",
        "env": {"HAI_CHECKPOINT_DIR": str(tmp_path / "checkpoints"), **env}, "api_url": "http://127.0.0.1:1",
    }  # fmt: skip
    (tmp_path / "rank").mkdir()
    return Evidence(Spec(str(tmp_path / "rank"), data), None, since)


def last_of(evidence: Evidence, *, forced: bool) -> Found | None:
    evidence.last_look(forced=forced)
    return evidence.news(0.0, at_once=True)


def test_the_last_look_counts_what_was_written_just_now(tmp_path: Path) -> None:
    path = aged(tmp_path / "checkpoints" / "model.pt", 0)
    found = last_of(evidence_of(tmp_path), forced=True)
    assert found is not None
    assert found.path == str(path)


def test_of_a_gang_that_was_ended_another_node_may_have_been_writing_it(tmp_path: Path) -> None:
    aged(tmp_path / "checkpoints" / "model.pt", 0)
    aged(tmp_path / "checkpoints" / "older.pt", 60)
    found = last_of(evidence_of(tmp_path, HAI_NODES="2"), forced=True)
    assert found is not None
    assert Path(found.path).name == "older.pt"


def test_what_is_torn_never_counts_nor_what_was_written_with_it(tmp_path: Path) -> None:
    evidence = evidence_of(tmp_path)
    aged(tmp_path / "checkpoints" / "before.pt", 60)
    evidence.noticed(())
    (tmp_path / "checkpoints" / "optimizer.pt").write_text("1")
    with (tmp_path / "checkpoints" / "model.pt").open("w") as file:
        file.write("half")
        file.flush()
        evidence.tear([os.getpid()])
    found = last_of(evidence, forced=True)
    assert found is not None
    assert Path(found.path).name == "before.pt"


class Heard:
    """Ears that heard `ago` seconds ago of a save that took as long as those before."""

    fd, count = None, 1

    def __init__(self, ago: float) -> None:
        self._ago = ago

    def quiet_needed(self, *, elsewhere: bool, indexed: bool | None) -> float:
        return INDEX_S if indexed is False else SHORT_S

    def quiet_for(self, now: float) -> float:
        return self._ago

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


@pytest.mark.parametrize(
    ("written", "heard", "settled"),
    [(1.0, 1.0, True), (1.0, 0.1, False), (0.1, 0.1, False), (1.0, 10.0, False), (3.0, 10.0, True)],
    ids=["all heard", "still at it", "just now", "written unheard", "written unheard long ago"],
)
def test_when_a_checkpoint_is_settled_that_needs_a_short_silence(
    tmp_path: Path, written: float, heard: float, *, settled: bool
) -> None:
    evidence = evidence_of(tmp_path)
    evidence._ears = Heard(heard)  # type: ignore[assignment]
    evidence._find_places()
    evidence._noticed_at = time.time_ns() - 60 * 10**9
    aged(tmp_path / "checkpoints" / "model.pt", written)
    evidence._step()
    assert evidence.settled(time.monotonic()) is settled
    assert evidence.unchanged()


def reported(tmp_path: Path, *in_index: str) -> Path:
    """A storage folder of Ray Train with one checkpoint, and an index that names some."""
    storage = tmp_path / "checkpoints" / "training"
    aged(storage / MARKER, 60)
    path = aged(storage / "checkpoint_2" / "state.json", 3)
    aged(storage / INDEX, 30).write_text(json.dumps({"checkpoint_results": in_index}))
    os.utime(storage / INDEX, (time.time() - 5,) * 2)
    return path


@pytest.mark.parametrize(
    ("in_index", "settled"),
    [(["checkpoint_1"], False), (["checkpoint_1", "checkpoint_2"], True)],
    ids=["not yet", "in it"],
)
def test_a_checkpoint_that_is_missing_in_the_index_of_ray_is_not_complete(
    tmp_path: Path, in_index: list[str], *, settled: bool
) -> None:
    reported(tmp_path, *in_index)
    evidence = evidence_of(tmp_path)
    evidence._ears = Heard(3.0)  # type: ignore[assignment]
    evidence._find_places()
    evidence._noticed_at = time.time_ns() - 4 * 10**9
    evidence._step()
    assert evidence.settled(time.monotonic()) is settled


def test_the_last_look_leaves_out_what_ray_would_not_find_again(tmp_path: Path) -> None:
    storage = reported(tmp_path, "checkpoint_1").parents[1]
    path = aged(storage / "checkpoint_1" / "state.json", 4)
    found = last_of(evidence_of(tmp_path), forced=True)
    assert found is not None
    assert found.path == str(path)


def test_where_no_index_is_kept_none_is_asked_for(tmp_path: Path) -> None:
    assert in_index(str(aged(tmp_path / "checkpoints" / "model.pt", 1))) is None
    assert in_index(str(tmp_path / "missing" / "model.pt")) is None


@pytest.mark.parametrize(("heard", "others"), [(0.1, False), (10.0, True)], ids=["and was closed", "unheard"])
def test_a_file_of_another_rank_that_grew_is_waited_for_unless_it_was_heard_to_be_closed(
    tmp_path: Path, heard: float, *, others: bool
) -> None:
    evidence = evidence_of(tmp_path)
    evidence._ears = Heard(heard)  # type: ignore[assignment]
    evidence._find_places()
    path = aged(tmp_path / "checkpoints" / "model.pt", 5)
    evidence._step()
    with path.open("a") as file:
        file.write("more")
    evidence._step()
    assert evidence.others_save(time.monotonic()) is others


def test_news_come_once_and_not_too_often(tmp_path: Path) -> None:
    evidence = evidence_of(tmp_path)
    one = aged(tmp_path / "checkpoints" / "1.pt", 100)
    evidence.last_look(forced=False)
    found = evidence.news(10.0)
    assert found is not None
    assert found.path == str(one)
    assert evidence.news(100.0) is None


def test_what_a_job_tells_counts_rather_than_its_files() -> None:
    told = {"at": "2026-01-01T00:00:00Z", "step": 3, "path": None, "source": "told"}
    assert is_newer(100.0, None, None)
    assert not is_newer(101.0, told, 100.0)
    assert is_newer(103.0, told, 100.0)
    assert is_newer(101.0, {**told, "source": "seen"}, 100.0)


def test_a_folder_that_is_not_there_or_may_not_be_read_is_no_evidence(tmp_path: Path) -> None:
    assert last_of(evidence_of(tmp_path), forced=False) is None
