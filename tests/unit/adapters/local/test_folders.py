"""The folders of runs, whatever a crash, a job or another service has made of them."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from hai_client.rank.starting import lock
from hai_scheduler.adapters.local import folders
from hai_scheduler.adapters.local.folders import (
    ADDRESS_FILE,
    ASIDE,
    FolderFacts,
    RankFolder,
    RunFolder,
    announce,
    exit_code_of,
    sweep,
)
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.run import Blame
from hai_scheduler.ports.errors import Absent

RUN = RunId("5.1")
SPEC: dict[str, Any] = {
    "run_id": "5.1", "rank": 0, "user": "ann", "node": "node-1", "origin": "a1b2-2", "env": {"MASTER_PORT": "23456"},
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "runs", RUN)
    folder.make()
    return folder


@pytest.fixture
def rank(run: RunFolder) -> RankFolder:
    folder = run.rank(0)
    folder.prepare(SPEC, "token")
    return folder


def held(folder: RankFolder) -> int:
    """Take the lock of a rank as a supervisor does; the descriptor that holds it."""
    fd = lock.take(str(folder.path))
    assert fd is not None
    return fd


@pytest.fixture
def supervisor(rank: RankFolder) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the command line of a supervisor of the rank."""
    words = [sys.executable, "-c", "print(flush=True); input()", "hai_client.rank", str(rank.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


# -- where the service answers --------------------------------------------------------------------------


def test_a_service_that_is_alone_forgets_where_it_was(tmp_path: Path) -> None:
    for url in ("http://a/1", "http://b/2", "http://b/2"):
        announce(tmp_path, url, alone=True)
    assert (tmp_path / ADDRESS_FILE).read_text() == "http://b/2\n"
    assert (tmp_path / ADDRESS_FILE).stat().st_mode & 0o777 == 0o600


def test_replicas_are_listed_once_each_and_not_without_end(tmp_path: Path) -> None:
    for number in [*range(20), 19]:
        announce(tmp_path, f"http://h:{number}", alone=False)
    assert (tmp_path / ADDRESS_FILE).read_text().split() == [f"http://h:{number}" for number in range(19, 11, -1)]


def test_services_that_start_at_the_same_moment_are_both_listed(tmp_path: Path, monkeypatch) -> None:
    real, later = (
        folders.write_whole,
        threading.Thread(target=announce, args=(tmp_path, "http://b"), kwargs={"alone": False}),
    )

    def write(path: Path, text: str) -> None:
        if text == "http://a\n":
            # The other process comes between the look at the file and the write; it ends at once, or waits.
            later.start()
            later.join(0.3)
        real(path, text)

    monkeypatch.setattr(folders, "write_whole", write)
    announce(tmp_path, "http://a", alone=False)
    later.join()
    assert (tmp_path / ADDRESS_FILE).read_text().split() == ["http://b", "http://a"]


def test_an_address_file_that_is_damaged_keeps_no_service_from_being_announced(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).write_bytes(b"\xff\nhttp://a\n")
    announce(tmp_path, "http://b", alone=False)
    assert (tmp_path / ADDRESS_FILE).read_bytes().split()[0] == b"http://b"
    assert b"http://a" in (tmp_path / ADDRESS_FILE).read_bytes()


# -- runs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_id", ["", "5", "5.", ".1", "5.1.2", "5.x", "../1", "5.1\n", "²" + ".1", f"{'9' * 19}.1"])
def test_what_is_no_run_id_has_no_folder(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(Absent, match="there is no run"):
        RunFolder(tmp_path, RunId(run_id))


def test_runs_are_found_by_numbers_and_nothing_else_is_one(tmp_path: Path) -> None:
    for name in ("5/1", "5/12", "40/2", "x/1", "5/log", ".aside/3", "9" * 19 + "/1"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "6").touch()
    (tmp_path / "7").symlink_to(tmp_path / "5")
    (tmp_path / "5" / "3").symlink_to(tmp_path / "5" / "1")
    assert sorted(folder.run_id for folder in RunFolder.all(tmp_path)) == ["40.2", "5.1", "5.12"]


def test_a_folder_of_all_runs_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert list(RunFolder.all(tmp_path / "none")) == []


def test_a_file_in_the_place_of_a_runs_folder_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "1").write_text("not ours")
    RunFolder(tmp_path, RUN).make()
    assert (tmp_path / "5" / "1").is_dir()


def test_a_rank_is_there_once_it_has_begun_or_is_fully_prepared(run: RunFolder) -> None:
    for number in (0, 1, 2, 10):
        run.rank(number).path.mkdir()
    run.rank(2).prepare({**SPEC, "rank": 2}, "token")
    run.rank(10).prepare({**SPEC, "rank": 10}, "")
    lock.mark_begun(str(run.rank(1).path))
    assert run.ranks() == [1, 2]


def test_a_rank_whose_files_cannot_be_read_is_there(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it were left out it would count as lost, and the task would be started a second time beside it."""
    run.rank(3).path.mkdir()

    def broken(_: RankFolder) -> bool:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(RankFolder, "prepared", property(broken))
    assert run.ranks() == [3]


def test_of_a_folder_that_cannot_be_listed_the_ranks_with_a_supervisor_are_there(
    run: RunFolder, rank: RankFolder, supervisor: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.rank(1).prepare({**SPEC, "rank": 1}, "token")

    def broken(_: Path) -> Iterator[Path]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "iterdir", broken)
    assert run.ranks() == [0]


def test_facts_of_a_run_are_those_of_its_ranks(run: RunFolder) -> None:
    run.rank(0).prepare(SPEC, "token")
    run.rank(1).prepare({**SPEC, "rank": 1, "node": "node-2"}, "token")
    assert run.facts() == FolderFacts(origin=Origin("a1b2", 2), nodes=("node-1", "node-2"), user="ann")
    (run.rank(0).path / "spec.json").write_text("{")
    assert run.facts().user == "ann", "as the other rank says"


@pytest.mark.parametrize(
    "spoilt", [{"origin": None, "user": 5}, {"origin": "x", "user": None}, {"origin": ["a"], "user": []}]
)
def test_facts_that_are_damaged_count_as_missing(run: RunFolder, spoilt: dict[str, Any]) -> None:
    run.rank(0).prepare({**SPEC, **spoilt}, "token")
    assert run.facts() == FolderFacts(nodes=("node-1",))
    assert RunFolder(run.path.parent.parent, RunId("9.9")).facts() == FolderFacts()


def test_a_run_is_superseded_by_a_later_number_and_not_by_an_earlier_one(tmp_path: Path) -> None:
    for number in (9, 10):
        RunFolder(tmp_path, RunId(f"5.{number}")).make()
    assert RunFolder(tmp_path, RunId("5.9")).superseded
    assert not RunFolder(tmp_path, RunId("5.10")).superseded


def test_the_order_to_end_a_run_stays(run: RunFolder) -> None:
    assert not run.killed
    run.mark_killed()
    run.mark_killed()
    assert RunFolder(run.path.parent.parent, RUN).killed


# -- MASTER_PORT --------------------------------------------------------------------------------------------


def test_a_port_is_chosen_once_for_all(run: RunFolder) -> None:
    port = run.master_port()
    assert 20_000 <= port < 32_000
    assert [run.master_port(), RunFolder(run.path.parent.parent, RUN).master_port()] == [port, port]


@pytest.mark.parametrize(
    "record", ["", "{", "[]", "{}", '{"master_port": 0}', '{"master_port": 65536}', '{"master_port": "1"}']
)
def test_a_record_without_a_port_is_replaced_by_the_port_that_ranks_were_given(run: RunFolder, record: str) -> None:
    run.rank(0).prepare({**SPEC, "env": {}}, "token")
    run.rank(1).prepare({**SPEC, "rank": 1}, "token")
    (run.path / "run.json").write_text(record)
    assert run.master_port() == 23456
    assert json.loads((run.path / "run.json").read_text())["master_port"] == 23456


def test_a_record_that_another_service_mends_is_waited_for(run: RunFolder) -> None:
    (run.path / "run.json").write_text("{")
    fd = os.open(run.path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with pytest.raises(OSError, match=r"run\.json cannot be read"):
        run.master_port()
    os.close(fd)
    assert run.master_port()


def test_a_port_that_is_in_use_is_not_chosen(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    class Socket:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def bind(self, address: tuple[str, int]) -> None:
            tried.append(address[1])
            if len(tried) < 3:
                raise OSError(98, "Address already in use")

    monkeypatch.setattr(folders.socket, "socket", Socket)
    assert run.master_port() == tried[2]


@pytest.mark.parametrize(
    ("env", "port"),
    [
        ({"MASTER_PORT": "23456"}, 23456),
        ({"MASTER_PORT": 23456}, None),
        ({"MASTER_PORT": "x"}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_port_of_a_rank_is_what_it_was_told(run: RunFolder, env: object, port: int | None) -> None:
    run.rank(0).prepare({**SPEC, "env": env}, "token")
    assert run.rank(0).master_port() == port


# -- putting aside and removing -----------------------------------------------------------------------------


def test_a_run_that_is_put_aside_keeps_its_log_below_its_origin(run: RunFolder, rank: RankFolder) -> None:
    (rank.path / "log" / "x").write_text("line")
    place = run.put_aside(Origin("a1b2", 2))
    assert place == run.path.parent.parent / ASIDE / "a1b2-2" / "5" / "1"
    assert place is not None
    assert (place / "0" / "log" / "x").read_text() == "line"
    assert not run.path.parent.exists(), "the task has no other run"
    assert list(RunFolder.all(run.path.parent.parent)) == []


def test_a_run_that_was_put_aside_before_is_not_overwritten(run: RunFolder) -> None:
    places = []
    for _ in range(3):
        run.make()
        places.append(run.put_aside(None))
    assert [place.name for place in places if place is not None] == ["1", "1-2", "1-3"]
    assert {place.parent.parent.name for place in places if place is not None} == {"unmarked"}
    assert run.put_aside(None) is None, "there is no folder any more"


def test_other_runs_of_the_task_stay(run: RunFolder) -> None:
    other = RunFolder(run.path.parent.parent, RunId("5.2"))
    other.make()
    run.put_aside(None)
    assert other.path.is_dir()
    run.make()
    run.remove()
    assert other.path.is_dir()


def test_a_run_is_removed_while_its_supervisor_removes_a_file(
    run: RunFolder, rank: RankFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, lost = os.unlink, iter([FileNotFoundError()])

    def unlink(name: str, **how: Any) -> None:
        usual(name, **how)
        for error in lost:
            raise error

    monkeypatch.setattr(os, "unlink", unlink)
    run.remove()
    assert list(run.path.parents[1].iterdir()) == []


def test_a_removed_run_leaves_nothing(run: RunFolder, rank: RankFolder) -> None:
    run.remove()
    run.remove()
    assert list(run.path.parent.parent.iterdir()) == []


def test_a_removal_that_was_cut_off_leaves_no_run_and_is_finished_later(
    run: RunFolder, rank: RankFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = run.path.parent.parent

    def cut(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(folders.shutil, "rmtree", cut)
        with pytest.raises(OSError, match="Input/output"):
            run.remove()
    assert list(RunFolder.all(root)) == []
    RunFolder(root, RunId("6.1")).make()
    sweep(root)
    assert [entry.name for entry in root.iterdir() if entry.name.startswith(".gone-")] == []
    assert [folder.run_id for folder in RunFolder.all(root)] == ["6.1"]


# -- what a rank is told --------------------------------------------------------------------------------------


def test_a_readable_order_is_kept_and_a_damaged_one_is_written_again(rank: RankFolder) -> None:
    rank.prepare({**SPEC, "node": "node-9"}, "token")
    assert (rank.order() or {})["node"] == "node-1"
    for damage in ("", "{", "[1]", json.dumps({**SPEC, "rank": 1}), json.dumps({**SPEC, "run_id": "6.1"})):
        (rank.path / "spec.json").write_text(damage)
        assert rank.order() is None
        assert not rank.prepared
        rank.prepare({**SPEC, "node": "node-9"}, "token")
        assert (rank.order() or {})["node"] == "node-9"


def test_what_a_rank_is_told_is_for_its_owner_alone(rank: RankFolder) -> None:
    assert {path.name: path.stat().st_mode & 0o777 for path in rank.path.iterdir()} == {
        "runtime": 0o700, "log": 0o700, "token": 0o600, "spec.json": 0o600,
    }  # fmt: skip


@pytest.mark.parametrize("token", [b"", b"\n", b"\xff", b"a\0b"])
def test_without_a_token_that_can_be_read_a_rank_is_not_prepared(rank: RankFolder, token: bytes) -> None:
    assert rank.prepared
    (rank.path / "token").write_bytes(token)
    assert not rank.prepared


@pytest.mark.parametrize(
    ("told", "used"), [({"runtime_dir": "/run/x"}, "/run/x"), ({"runtime_dir": 5}, None), ({}, None)]
)
def test_a_job_of_another_account_has_its_runtime_folder_elsewhere(
    run: RunFolder, told: dict[str, Any], used: str | None
) -> None:
    run.rank(0).prepare({**SPEC, **told}, "token")
    assert run.rank(0).runtime_of_job == (used or str(run.rank(0).runtime))


# -- what a rank says -----------------------------------------------------------------------------------------


def test_a_rank_that_has_not_begun_has_no_status(rank: RankFolder) -> None:
    assert (rank.status(), rank.changed_at(), rank.begun, rank.started) == (None, 0, False, False)


@pytest.mark.parametrize(
    "status",
    [
        {"state": "running"},
        {"state": "exited", "exit_code": 0},
        {"state": "exited", "exit_code": 255, "x": 1},
        {"state": "exited", "exit_code": None, "start_error": "no python"},
    ],
)
def test_a_status_that_a_supervisor_can_have_written_counts(rank: RankFolder, status: dict[str, Any]) -> None:
    (rank.path / "status.json").write_text(json.dumps(status))
    assert rank.status() == status
    assert rank.changed_at() > 0


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "{}", '{"state": "dancing"}', '{"state": "exited"}', '{"state": "exited", "exit_code": -1}',
        '{"state": "exited", "exit_code": 256}', '{"state": "exited", "exit_code": true}',
        '{"state": "exited", "start_error": 1}',
    ],
)  # fmt: skip
def test_a_status_that_cannot_be_read_counts_as_running(rank: RankFolder, text: str) -> None:
    """A rank that has begun is never started again."""
    (rank.path / "status.json").write_text(text)
    assert rank.status() == {"state": "running", "unreadable": True}
    assert rank.begun


def test_a_status_that_was_lost_after_the_start_counts_as_running(rank: RankFolder) -> None:
    lock.mark_begun(str(rank.path))
    assert rank.status() == {"state": "running", "unreadable": True}
    assert rank.started


@pytest.mark.parametrize(
    ("code", "found"),
    [(0, 0), (255, 255), (256, None), (-1, None), (True, None), ("0", None), (None, None), (1.0, None)],
)
def test_an_exit_status_is_one_that_a_process_can_end_with(code: object, found: int | None) -> None:
    assert exit_code_of({"exit_code": code}) == found


# -- ranks that never start -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "error", "blame"),
    [(143, None, Blame.NODE), (None, "no python", Blame.NOBODY), (None, "no disk", Blame.NODE)],
)
def test_a_rank_that_never_starts_is_recorded_once(rank: RankFolder, code, error, blame: Blame) -> None:
    assert rank.end_unstarted(code, error, blame=blame)
    status = rank.status()
    assert status is not None
    assert (status["state"], status["exit_code"], status["start_error"], status["blame"]) == (
        "exited", code, error, blame.value,
    )  # fmt: skip
    assert rank.begun
    assert not rank.started
    assert not rank.end_unstarted(0, None)
    assert rank.status() == status


def test_a_rank_that_has_begun_or_whose_supervisor_begins_just_now_is_not_said_never_to_start(rank: RankFolder) -> None:
    fd = held(rank)
    assert not rank.end_unstarted(143, None)
    assert rank.status() is None
    os.close(fd)
    lock.mark_begun(str(rank.path))
    assert not rank.end_unstarted(143, None)


# -- its supervisor -------------------------------------------------------------------------------------------


def test_who_holds_the_lock_or_has_the_command_line_supervises(
    rank: RankFolder, supervisor: subprocess.Popen[bytes]
) -> None:
    assert rank.find_supervisors() == [supervisor.pid]
    assert rank.supervised(), "though the file that it has locked was replaced"
    supervisor.kill()
    supervisor.wait()
    assert not rank.supervised()
    fd = held(rank)
    assert rank.supervised()
    os.close(fd)
    assert not rank.supervised()


@pytest.mark.parametrize("text", ["", "x", "1", "99999999"])
def test_a_lock_file_that_names_another_process_names_no_supervisor(rank: RankFolder, text: str) -> None:
    assert rank.supervisor() is None
    (rank.path / "lock").write_text(text)
    assert rank.supervisor() is None


def test_a_lock_file_names_its_supervisor(
    rank: RankFolder, supervisor: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (rank.path / "lock").write_text(str(supervisor.pid))
    assert rank.supervisor() == supervisor.pid
    other = RankFolder(tmp_path / "other" / "5" / "1" / "0", RUN, 0)
    assert not other.is_supervised_by(supervisor.pid)


def test_since_when_a_rank_is_ordered_to_end_is_the_time_of_the_order(rank: RankFolder) -> None:
    assert rank.killed_for() == 0
    rank.mark_killed()
    order = rank.path / "kill"
    os.utime(order, (order.stat().st_atime, order.stat().st_mtime - 100))
    rank.mark_killed()
    assert 100 <= rank.killed_for() < 1000
    os.utime(order, (order.stat().st_atime, order.stat().st_mtime + 10_000))
    assert rank.killed_for() == 0, "the clock was turned back"
