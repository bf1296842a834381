"""The evidence for checkpoints: what has settled, what is torn, what an index names, and what the job tells."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hai_client.rank.evidence.complete import INDEX_S, SHORT_S
from hai_client.rank.evidence.finding import Evidence, is_newer
from hai_client.rank.evidence.indexes import INDEX, MARKER, in_index
from hai_client.rank.evidence.sweep import Found
from hai_client.rank.starting.spec import Spec


def aged(path: Path, seconds: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1")
    at = time.time() - seconds
    os.utime(path, (at, at))
    return path


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
    """A tree watch that heard `ago` seconds ago of a save that took as long as those before."""

    fd, count = None, 1

    def __init__(self, ago: float) -> None:
        self._ago = ago
        self.elsewhere: list[str] = []
        self.came: list[tuple[str, int]] = []
        self.records: set[str] = set()

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
    evidence._tree_watch = Heard(heard)  # type: ignore[assignment]
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
    evidence._tree_watch = Heard(3.0)  # type: ignore[assignment]
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
    evidence._tree_watch = Heard(heard)  # type: ignore[assignment]
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


def run_of(tmp_path: Path) -> Evidence:
    """The evidence of a run that has just begun, and was told to leave, with its places looked up."""
    evidence = evidence_of(tmp_path, since=time.time_ns() - 20 * 10**9)
    (tmp_path / "checkpoints").mkdir()
    evidence._find_places()
    return evidence


def test_a_draft_of_before_the_notice_that_is_renamed_after_it_is_a_checkpoint_since_the_notice(tmp_path: Path) -> None:
    evidence = run_of(tmp_path)
    draft = aged(tmp_path / "checkpoints" / "model.pt.tmp", 10)
    evidence._noticed_at = time.time_ns() - 5 * 10**9
    evidence._step()
    assert evidence.newest is None
    draft.rename(tmp_path / "checkpoints" / "model.pt")
    evidence._step()
    evidence._choose(last=True)
    assert evidence.newest is not None
    assert evidence.newest.at >= evidence._noticed_at


@pytest.mark.parametrize("name", ["model.pt", "step-20/model.pt"])
def test_what_was_renamed_before_the_notice_is_no_checkpoint_since_it_though_it_is_heard_later(
    tmp_path: Path, name: str
) -> None:
    evidence = run_of(tmp_path)
    folder = tmp_path / "checkpoints"
    aged(folder / "draft" / name, 10)
    evidence._step()
    top = name.partition("/")[0]
    (folder / "draft" / top).rename(folder / top)
    evidence._noticed_at = time.time_ns()
    evidence._step()
    evidence._step()
    evidence._choose(last=True)
    assert evidence.newest is not None
    assert evidence.newest.path == str(folder / name)
    assert evidence.newest.at < evidence._noticed_at


def test_a_checkpoint_that_replaces_one_that_was_told_is_news(tmp_path: Path) -> None:
    evidence = run_of(tmp_path)
    path = tmp_path / "checkpoints" / "model.pt"
    save(path, 1000, 10)
    evidence._step()
    first = evidence.news(0.0, at_once=True)
    assert first is not None
    save(path.with_suffix(".tmp"), 1000, 1)
    path.with_suffix(".tmp").replace(path)
    found = last_of(evidence, forced=False)
    assert found is not None
    assert found.at > first.at


def test_a_folder_that_is_renamed_into_place_brings_its_files(tmp_path: Path) -> None:
    evidence = run_of(tmp_path)
    aged(tmp_path / "checkpoints" / "tmp-step-20" / "model.pt", 10)
    evidence._step()
    (tmp_path / "checkpoints" / "tmp-step-20").rename(tmp_path / "checkpoints" / "step-20")
    before = time.time_ns() - 10**9
    evidence._step()
    evidence._step()
    evidence._choose(last=True)
    assert evidence.newest is not None
    assert evidence.newest.at >= before


def test_a_quick_save_below_the_working_folder_is_heard(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    evidence = run_of(tmp_path)
    evidence._step()
    (tmp_path / "out" / "ckpt.pt").write_text("1")
    (tmp_path / "out" / "notes.txt").write_text("1")
    evidence._step()
    found = last_of(evidence, forced=False)
    assert found is not None
    assert found.path == str(tmp_path / "out" / "ckpt.pt")


def test_a_log_that_grows_is_never_waited_for_and_counts_no_more(tmp_path: Path) -> None:
    evidence = run_of(tmp_path)
    log = aged(tmp_path / "checkpoints" / "epochs.txt", 9)
    for age in (8, 7):
        evidence._step()
        with log.open("a") as file:
            file.write("another line\n")
        os.utime(log, (time.time() - age,) * 2)
    evidence._step()
    count = evidence._tree_watch.count
    log.write_text(log.read_text() + "one more\n")
    evidence._step()
    assert evidence._tree_watch.count == count
    assert last_of(evidence, forced=False) is None
    assert evidence.spoilt, "its first line was taken for a checkpoint"


def save(path: Path, size: int, age: float) -> None:
    path.write_bytes(b"\0" * size)
    os.utime(path, (time.time() - age,) * 2)


@pytest.mark.parametrize(
    ("what", "left"),
    [
        (lambda path: save(path, 100, 0), "older.pt"),
        (lambda path: path.unlink(), "older.pt"),
        (lambda path: save(path, 1000, 0), "model.pt"),
        (lambda path: None, "model.pt"),
    ],
    ids=["cut short", "removed", "saved again", "left alone"],
)
def test_a_checkpoint_that_is_none_any_more_is_spoilt_and_the_one_before_counts(
    tmp_path: Path, what: Callable[[Path], None], left: str
) -> None:
    evidence = run_of(tmp_path)
    path = tmp_path / "checkpoints" / "model.pt"
    save(tmp_path / "checkpoints" / "older.pt", 1000, 15)
    save(path, 1000, 10)
    evidence._step()
    assert evidence.newest is not None
    assert evidence.newest.path == str(path)
    what(path)
    evidence.last_look(forced=False)
    assert Path(evidence.newest.path).name == left
    assert evidence.spoilt is (left != "model.pt")


@pytest.mark.parametrize(
    ("before", "renamed", "counts"),
    [(None, False, False), (None, True, True), (1000, False, True), (5000, False, False)],
    ids=["the first, in place", "renamed", "as long as before", "shorter"],
)
def test_what_was_written_just_before_the_command_failed_counts_if_it_is_whole(
    tmp_path: Path, before: int | None, *, renamed: bool, counts: bool
) -> None:
    evidence = run_of(tmp_path)
    folder = tmp_path / "checkpoints"
    if before is not None:
        save(folder / "model-1.pt", before, 60)
        evidence._step()
    target = folder / "model-2.pt"
    save(folder / "draft.tmp" if renamed else target, 1000, 0)
    if renamed:
        (folder / "draft.tmp").rename(target)
        evidence._step()
    evidence.last_look(forced=False, failed=True)
    assert (evidence.newest is not None) is counts
    assert (evidence.refused is None) is counts


def test_a_part_of_a_checkpoint_that_is_smaller_than_its_other_parts_is_no_torn_one(tmp_path: Path) -> None:
    evidence = run_of(tmp_path)
    folder = tmp_path / "checkpoints"
    for number, size in ((1, 5000), (2, 5000), (3, 2000)):
        save(folder / f"model-0000{number}-of-00003.safetensors", size, 15 - 4 * number)
        evidence._step()
    assert evidence.refused is None
    assert evidence.newest is not None
    assert Path(evidence.newest.path).name == "model-00003-of-00003.safetensors"


def test_a_shorter_state_that_replaces_the_one_before_is_whole(tmp_path: Path) -> None:
    # The list of what is left to do becomes shorter with each save.
    evidence = run_of(tmp_path)
    state = tmp_path / "checkpoints" / "state.json"
    for size, age in ((1000, 10), (500, 5)):
        save(tmp_path / "checkpoints" / "state.json.tmp", size, age)
        (tmp_path / "checkpoints" / "state.json.tmp").replace(state)
        evidence._step()
    evidence.last_look(forced=False)
    assert evidence.newest is not None
    assert (evidence.newest.size, evidence.refused, evidence.spoilt) == (500, None, False)
