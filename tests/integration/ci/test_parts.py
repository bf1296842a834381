"""The parts of .ci/run that go on beside each other: none fails unseen, none is left running, all is shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ci import parts
from ci.parts import Part, Run
from kit.waiting import wait_for

#: A part that tidies up when it is interrupted, and not before.
TIDY = """
import pathlib, signal, sys, time
def leave(*_):
    print("tidied up", flush=True)
    sys.exit(0)
signal.signal(signal.SIGINT, leave)
pathlib.Path("up").touch()
time.sleep(600)
"""
UP = "until [ -e up ]; do sleep 0.01; done"

Go = Callable[..., tuple[int, str]]


def front(name: str, line: str, *after: str, **more: Any) -> Part:
    return Part(name, ("bash", "-c", line), after, **more)


def beside(name: str, line: str, *after: str, **more: Any) -> Part:
    return front(name, line, *after, beside=True, **more)


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Go:
    """Do parts; return the status and what was said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tidy.py").write_text(TIDY)

    def do(*table: Part, lacks: Callable[[str], str | None] = lambda thing: None, **more: Any) -> tuple[int, str]:
        status = Run(table, tmp_path / "logs", lacks, **more).go()
        return status, capfd.readouterr().out

    return do


def in_order(said: str, *lines: str) -> bool:
    return sorted(lines, key=said.index) == list(lines)


def test_parts_go_on_beside_each_other_and_what_they_say_is_shown_whole(go: Go) -> None:
    # Each waits for a file of the other.
    status, said = go(
        beside("one", "echo one begins; touch a; until [ -e b ]; do sleep 0.01; done; echo one ends"),
        beside("other", "echo other begins; touch b; until [ -e a ]; do sleep 0.01; done; echo other ends >&2"),
        front("last", "echo went on", "one", "other"),
    )
    assert status == 0
    assert in_order(said, "one begins", "one ends", "== one passed after 0 min", "went on")
    assert in_order(said, "other begins", "other ends", "== other passed after 0 min", "went on")
    assert "begins" not in said[said.index("ends") : said.index(" passed")]


def test_a_part_begins_when_what_it_comes_after_has_ended_however_long_others_take(go: Go) -> None:
    status, said = go(
        beside("first", "true"),
        front("long", "until [ -e second ]; do sleep 0.01; done; echo long ends"),
        beside("second", "touch second", "first"),
    )
    assert status == 0
    # What is beside others is not shown in the midst of what is seen at once.
    assert in_order(said, "== long\n", "long ends", "== long passed", "== first passed", "== second passed")


def test_the_time_of_a_part_is_until_its_own_end_however_late_it_is_shown(
    go: Go, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = [0.0]
    monkeypatch.setattr(parts, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=time.sleep))

    def lacks(thing: str) -> str | None:
        clock[0] += 601
        (tmp_path / "up").touch()
        return None

    status, said = go(
        beside("quick", "true"), front("slow", UP), beside("next", "true", "quick", needs=("x",)), lacks=lacks
    )
    assert status == 0
    assert "== quick passed after 0 min 00 s" in said
    assert "== slow passed after 10 min 01 s" in said


def test_a_part_that_fails_ends_the_run_where_it_is_waited_for_after_all_have_been_shown(go: Go) -> None:
    status, said = go(
        beside("bad", "echo bad; exit 7"), beside("good", "echo good"), front("last", "echo went on", "bad", "good")
    )
    assert status == 1
    assert "== bad FAILED (status 7)" in said
    assert "went on" not in said


def test_a_part_that_fails_where_only_others_beside_wait_for_it_fails_the_run_at_its_end(go: Go) -> None:
    status, said = go(beside("bad", "exit 7"), beside("after", "echo after", "bad"), front("last", "echo went on"))
    assert status == 1
    assert "went on" in said
    assert "== after did not begin" in said
    assert "echo after" not in said


def test_a_part_that_is_killed_has_failed(go: Go) -> None:
    status, said = go(beside("killed", "kill -9 $$"))
    assert status == 1
    assert "== killed FAILED (status 137)" in said


def test_what_fails_in_front_ends_the_run_with_its_status_and_interrupts_what_runs_beside_it(go: Go) -> None:
    status, said = go(
        Part("tidy", ("python3", "tidy.py"), beside=True),
        front("wait", UP),
        front("bad", "exit 9", "wait"),
        front("last", "echo went on", "bad"),
    )
    assert status == 9
    assert in_order(said, "== wait passed", "== bad FAILED (status 9)")
    assert "went on" not in said
    assert said.endswith("== tidy, which ran beside the others and was not waited for\ntidied up\n")


def test_what_does_not_leave_when_it_is_interrupted_is_killed_with_all_that_it_has_started(
    go: Go, tmp_path: Path
) -> None:
    status, _ = go(
        beside("deaf", 'trap "" INT; sleep 600 & echo $! >child; touch up; wait'),
        front("wait", f"{UP}; exit 3"),
        tidy_up_s=1.0,
    )
    assert status == 3
    child = int((tmp_path / "child").read_text())
    wait_for("the child to end", lambda: not running(child))


def test_what_a_machine_lacks_is_skipped_by_name_and_what_comes_after_it_goes_on(go: Go) -> None:
    status, said = go(
        beside("needs", "echo did", needs=("moon",)),
        beside("found out", "echo looked; echo no sun today; exit 77"),
        front("last", "echo went on", "needs", "found out", uses=("moon", "air")),
        lacks=lambda thing: "no moon" if thing == "moon" else None,
    )
    assert status == 0
    assert "did" not in said
    assert "went on" in said
    assert in_order(said, "looked", "no sun today\n", "== found out skipped, no sun today")
    proven = said.partition("== not proven on this machine\n")[2].splitlines()
    assert proven == ["needs: skipped, no moon", "found out: skipped, no sun today", "last: in part, no moon"]


def running(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
