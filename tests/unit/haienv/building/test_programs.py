"""Programs that build: what they say is handed on while they run."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from haienv.building import programs
from haienv.building.uv import Uv
from haienv.shared.errors import BuildFailed

#: It goes on when somebody has seen what it says, and fails if nobody does so for a minute.
WAITING = """
import os, sys, time
print("Downloading torch (190.0MiB)", file=sys.stderr, flush=True)
for _ in range(6000):
    if os.path.exists(sys.argv[-1]):
        break
    time.sleep(0.01)
else:
    sys.exit(1)
print("index https://ann:secret@pypi.example/simple", file=sys.stderr)
print("done")
"""


def test_what_a_program_says_is_shown_before_it_ends(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = tmp_path / "uv"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{WAITING}' {seen}\n")
    program.chmod(0o755)
    shown: list[str] = []

    def show(line: str) -> None:
        shown.append(line)
        assert "Downloading torch" in (tmp_path / "log").read_text(), "the log is written as it comes, too"
        seen.touch()

    uv = Uv(program=str(program), environ=dict(os.environ), log=tmp_path / "log", show=show)
    assert uv.run([str(seen)], doing="install") == "done\n"
    assert shown == ["Downloading torch (190.0MiB)"]
    assert "secret" not in (tmp_path / "log").read_text()


def test_a_program_may_answer_much_before_it_has_read_what_it_is_given() -> None:
    code = "import sys; sys.stdout.write('x' * 10**6); sys.stderr.write('y' * 10**6); print(len(sys.stdin.read()))"
    log = io.StringIO()
    status, out, err = programs.run(
        [sys.executable, "-c", code], env=dict(os.environ), stdin="z" * 10**6, log=log, seen=lambda _: None
    )
    assert (status, out.lstrip("x"), len(err), log.getvalue()) == (0, "1000000\n", 10**6, err)


def test_a_program_that_reads_nothing_is_no_error() -> None:
    words = [sys.executable, "-c", "import sys; sys.exit(3)"]
    assert programs.run(words, env={}, stdin="z" * 10**6, log=io.StringIO(), seen=print) == (3, "", "")


def test_a_build_that_is_interrupted_leaves_no_program(tmp_path: Path) -> None:
    code = f"import os, sys, time; sys.stderr.write(f'{{os.getpid()}}\\n'); sys.stderr.flush(); time.sleep({600})"
    found: list[int] = []

    def interrupted(line: str) -> None:
        found.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        programs.run([sys.executable, "-c", code], env={}, stdin="", log=io.StringIO(), seen=interrupted)
    with pytest.raises(ProcessLookupError):
        os.kill(found[0], 0)


@pytest.mark.parametrize("mode", [None, 0o644])
def test_a_uv_that_cannot_be_started_is_named(tmp_path: Path, mode: int | None) -> None:
    program = tmp_path / "uv"
    if mode is not None:
        program.write_text("x")
        program.chmod(mode)
    uv = Uv(program=str(program), environ={}, log=tmp_path / "log", show=print)
    with pytest.raises(BuildFailed, match=r"uv cannot be started: .*/uv"):
        uv.run([], doing="install")
