"""The start of a rank: what the command gets, and commands that cannot be started."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from kit.waiting import wait_for


def test_the_status_of_the_command_is_the_status_of_the_rank(bench) -> None:
    status = bench.run("sh", "-c", "echo hello; exit 3")
    assert (status["state"], status["exit_code"], status["start_error"]) == ("exited", 3, None)
    assert bench.lines() == ["hello"]
    assert status["ended_at"] >= status["started_at"]


def test_a_command_that_dies_of_a_signal_shows_128_and_its_number(bench) -> None:
    assert bench.run("sh", "-c", "kill -9 $$")["exit_code"] == 128 + signal.SIGKILL


def test_the_command_gets_exactly_the_environment_of_the_spec_and_its_own_session(bench) -> None:
    bench.run("sh", "-c", "tr '\\0' '\\n' < /proc/$$/environ | sort; readlink /proc/$$/fd/0; ps -o sid= -p $$; echo $$")
    *env, stdin, session, pid = bench.lines()
    spec = json.loads((bench.folder / "spec.json").read_text())
    names = [line.partition("=")[0] for line in env]
    # PyTorch finds by these whom it asks for recordings.
    assert [name for name in names if not name.startswith("KINETO_")] == sorted(spec["env"])
    assert len(names) == len(spec["env"]) + 6
    assert stdin == "/dev/null"
    assert session.strip() == pid


def test_the_command_has_no_file_of_the_supervisor_and_no_signal_is_ignored_or_blocked(bench) -> None:
    bench.run("sh", "-c", "ls /proc/self/fd; grep -E 'Sig(Ign|Blk)' /proc/self/status")
    *fds, blocked, ignored = [line.split()[-1] for line in bench.lines()]
    assert set(fds) == {"0", "1", "2", "3"}  # 3 is the folder that ls reads
    standard = 0x7FFFFFFF  # signals 32 and 33 are the C library's own and pass from process to process
    assert (int(blocked, 16) & standard, int(ignored, 16) & standard) == (0, 0)


@pytest.mark.parametrize(
    ("command", "code", "sentence"),
    [
        (["no-such-command"], 127, "no-such-command: command not found; correct the command, or PATH"),
        (["./missing/prog"], 127, "./missing/prog: command not found; correct the command, or PATH"),
        (["./plain"], 126, "./plain: Permission denied; is it executable (chmod +x)?"),
        (["./bad"], 127, "./bad: the interpreter in its first line does not exist"),
        (["./empty"], 126, "./empty: neither a program nor a script with a first line such as #!/bin/sh"),
    ],
)
def test_a_command_that_cannot_be_executed_is_the_users_and_the_log_says_why(bench, command, code, sentence) -> None:
    bench.folder.mkdir()
    for name, text, mode in (("plain", "hello", 0o600), ("bad", "#!/no/such\n", 0o700), ("empty", "hello", 0o700)):
        (bench.folder / name).write_text(text)
        (bench.folder / name).chmod(mode)
    status = bench.run(*command)
    assert (status["exit_code"], status["start_error"]) == (code, None)
    assert bench.lines()[0].startswith(f"[hai] {sentence}")


def test_a_missing_working_directory_is_the_users(bench) -> None:
    status = bench.run("true", cwd="/no/such/folder")
    assert (status["exit_code"], status["start_error"]) == (127, None)
    assert "cannot enter the working directory /no/such/folder" in bench.lines()[0]


def test_a_spec_that_cannot_be_read_is_the_platforms(bench) -> None:
    status = bench.run("true", profile="unheard-of")
    assert status["exit_code"] is None
    assert "profile is 'unheard-of'; it must be one of" in status["start_error"]


def test_of_two_supervisors_on_one_folder_one_starts_the_command(bench) -> None:
    bench.prepare("sh", "-c", "echo started >> count; sleep 0.5")
    first, second = bench.start(), bench.start()
    assert (first.wait(60), second.wait(60)) == (0, 0)
    assert (bench.folder / "count").read_text() == "started\n"


def test_a_rank_that_has_ended_is_not_started_again(bench) -> None:
    bench.run("sh", "-c", "echo started >> count")
    assert bench.start().wait(60) == 0
    assert (bench.folder / "count").read_text() == "started\n"


def test_a_rank_whose_supervisor_was_killed_is_not_started_again(bench) -> None:
    first = bench.start("sh", "-c", "echo started >> draft; cp draft copy; mv copy count; sleep 60")
    wait_for("the command to have counted", (bench.folder / "count").exists)
    first.kill()
    first.wait()
    assert bench.start().wait(60) == 0
    assert (bench.folder / "count").read_text() == "started\n"
    assert bench.status()["state"] == "running"


def test_the_lock_is_held_by_the_platform_alone_and_names_the_keeper(bench) -> None:
    import fcntl

    supervisor = bench.start("sh", "-c", "setsid sleep 60 & sleep 60")
    wait_for("three processes", lambda: len(bench.processes()) >= 3)
    assert int((bench.folder / "lock").read_text()) == supervisor.pid
    holders = {int(pid) for path in Path("/proc").glob("[0-9]*/fd/*") for pid in held_by(path, bench.folder / "lock")}
    (below,) = (Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children")).read_text().split()
    assert holders == {supervisor.pid, int(below)}
    supervisor.terminate()
    supervisor.wait()
    fd = os.open(bench.folder / "lock", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)


def held_by(descriptor: Path, file: Path) -> list[str]:
    """The id of the process if it has `file` open at that descriptor, else nothing."""
    try:
        return [descriptor.parts[2]] if descriptor.readlink() == file else []
    except OSError:  # the process has just ended, or closed the file
        return []


def test_a_rank_that_was_killed_before_it_started_never_starts(bench) -> None:
    bench.prepare("sh", "-c", "echo started > count")
    (bench.folder / "kill").touch()
    status = bench.run()
    assert (status["state"], status["exit_code"]) == ("exited", 143)
    assert not (bench.folder / "count").exists()


def test_wrong_arguments_say_how_it_is_used(bench, capfd) -> None:
    from hai_client.rank.keeper import main

    assert main([]) == 2
    assert "python -m hai_client.rank FOLDER" in capfd.readouterr().err


def test_the_files_of_a_rank_are_for_its_owner_only(bench) -> None:
    bench.run("echo", "x")
    files = [path for path in Path(bench.folder).rglob("*") if path.is_file()]
    ours = [p for p in files if p.name in ("status.json", "lock", "begun") or p.parent.name == "log"]
    assert len(ours) == 4
    assert [oct(p.stat().st_mode & 0o077) for p in ours] == ["0o0"] * 4


def test_a_rank_whose_record_was_lost_is_not_started_again(bench) -> None:
    bench.run("sh", "-c", "echo started >> count")
    (bench.folder / "status.json").unlink()
    assert bench.start().wait(60) == 0
    assert (bench.folder / "count").read_text() == "started\n"
    assert not (bench.folder / "status.json").exists()
