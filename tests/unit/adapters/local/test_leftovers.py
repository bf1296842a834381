"""What a rank has left when its supervisor died is found by three marks, and nothing else is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hai_client.linux.processes import boot_id, read_table
from hai_scheduler.adapters.local.folders import RankFolder
from hai_scheduler.adapters.local.leftovers import kill_leftovers
from hai_scheduler.core.model.ids import RunId

RUN = RunId("5.1")
WAITS = "print(flush=True); input()"
#: Starts another process and waits with it, and when that is killed; both go when the other side of their pipe does.
FATHER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAITS!r}]); input()"
Process = subprocess.Popen[bytes]
Starter = Callable[..., Process]


@pytest.fixture
def folder(tmp_path: Path) -> RankFolder:
    folder = RankFolder(tmp_path / "runs" / "5" / "1" / "0", RUN, 0)
    folder.prepare({"run_id": "5.1", "rank": 0}, "token")
    return folder


@pytest.fixture
def start() -> Iterator[Starter]:
    """Start a process that waits, with these variables; it has begun to wait."""
    started: list[Process] = []

    def one(env: dict[str, str] | None = None, code: str = WAITS) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=env or {}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield one
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def mark(folder: RankFolder, **changed: str) -> dict[str, str]:
    """The variables by which a process belongs to a rank."""
    return {"HAI_RUN_ID": "5.1", "HAI_RANK": "0", "HAI_RUNTIME_DIR": str(folder.runtime), **changed}


def listed(folder: RankFolder, *processes: Process, boot: str = "", later: int = 0) -> None:
    """Write the supervisor's list; `later` is added to the times at which the processes started."""
    table = read_table()
    lines = [f"{process.pid} {table[process.pid].start + later}" for process in processes]
    (folder.path / "processes").write_text("\n".join([boot or boot_id(), *lines]) + "\n")


def dead(process: Process) -> bool:
    return process.poll() == -9


def test_a_process_with_the_marks_of_the_rank_is_killed(folder: RankFolder, start: Starter) -> None:
    process = start(mark(folder))
    assert kill_leftovers(folder, patience_s=60)
    assert dead(process)


@pytest.mark.parametrize(
    "changed", [{"HAI_RUN_ID": "5.2"}, {"HAI_RANK": "1"}, {"HAI_RUNTIME_DIR": "/another/platform/5/1/0/runtime"}]
)
def test_a_process_of_another_rank_run_or_platform_is_left_alone(folder: RankFolder, start: Starter, changed) -> None:
    process = start(mark(folder, **changed))
    assert kill_leftovers(folder, patience_s=60)
    assert process.poll() is None


def test_a_process_of_a_job_of_another_account_has_the_folder_that_it_was_told(tmp_path: Path, start: Starter) -> None:
    folder = RankFolder(tmp_path / "5" / "1" / "0", RUN, 0)
    folder.prepare({"run_id": "5.1", "rank": 0, "runtime_dir": "/run/hai/x"}, "token")
    ours, other = start(mark(folder, HAI_RUNTIME_DIR="/run/hai/x")), start(mark(folder))
    assert kill_leftovers(folder, patience_s=60)
    assert dead(ours)
    assert other.poll() is None


def test_a_process_that_has_lost_its_environment_is_found_by_the_supervisors_list(
    folder: RankFolder, start: Starter
) -> None:
    process = start()
    listed(folder, process)
    assert kill_leftovers(folder, patience_s=60)
    assert dead(process)


def test_a_process_that_got_the_pid_of_a_listed_one_is_left_alone(folder: RankFolder, start: Starter) -> None:
    process = start()
    listed(folder, process, later=-1)
    assert kill_leftovers(folder, patience_s=60)
    assert process.poll() is None


def test_a_list_from_before_the_machine_was_started_again_counts_for_nothing(
    folder: RankFolder, start: Starter
) -> None:
    process = start()
    listed(folder, process, boot="6b0b8a14-0000-0000-0000-000000000000")
    assert kill_leftovers(folder, patience_s=60)
    assert process.poll() is None


@pytest.mark.parametrize("text", ["", "\n", "{boot}\nx y\n", "{boot}\n{pid}\n", "{boot}\n{pid} {start} 2\n", "\xff"])
def test_a_list_that_is_damaged_kills_nothing_and_hides_nothing(folder: RankFolder, start: Starter, text: str) -> None:
    other, ours = start(), start(mark(folder))
    content = text.format(boot=boot_id(), pid=other.pid, start=read_table()[other.pid].start) if "{" in text else text
    (folder.path / "processes").write_bytes(content.encode("latin-1"))
    assert kill_leftovers(folder, patience_s=60)
    assert other.poll() is None
    assert dead(ours)


def test_what_descends_from_it_is_killed_too(folder: RankFolder, start: Starter) -> None:
    """The child has the marks of no rank: programs may clear the environment of what they start."""
    father = start(code=FATHER)
    child = next(pid for pid, process in read_table().items() if process.parent == father.pid)
    listed(folder, father)
    assert kill_leftovers(folder, patience_s=60)
    assert dead(father)
    table = read_table()
    assert child not in table or table[child].zombie


def test_a_process_that_has_ended_and_was_not_waited_for_is_no_leftover(folder: RankFolder, start: Starter) -> None:
    process = start(mark(folder))
    listed(folder, process)
    assert process.stdin is not None
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert kill_leftovers(folder, patience_s=0)


def test_when_the_time_is_over_it_says_that_some_are_left(folder: RankFolder, start: Starter) -> None:
    process = start(mark(folder))
    assert not kill_leftovers(folder, patience_s=0)
    assert process.poll() is None
    assert kill_leftovers(folder, patience_s=60)


#: A service that finds itself in the list of a rank. It is a process of its own, because its children would be killed.
LISTED_ITSELF = """
import os, sys
from pathlib import Path
from hai_client.linux.processes import boot_id, read_table
from hai_scheduler.adapters.local.folders import RankFolder
from hai_scheduler.adapters.local.leftovers import kill_leftovers
folder = RankFolder(Path(sys.argv[1]), "5.1", 0)
(folder.path / "processes").write_text(f"{boot_id()}\\n{os.getpid()} {read_table()[os.getpid()].start}\\n")
sys.exit(0 if kill_leftovers(folder, patience_s=60) else 3)
"""


def test_the_service_does_not_kill_itself(folder: RankFolder) -> None:
    assert subprocess.run([sys.executable, "-c", LISTED_ITSELF, str(folder.path)], check=False).returncode == 0
