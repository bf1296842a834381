"""The sweep over folders: which files of a run it finds, and how long a look may take."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hai_client.rank.evidence.sweep import Sweep


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
