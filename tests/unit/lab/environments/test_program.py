"""How haienv is started for a user, and what becomes of its answers and errors."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from hai_lab.environments import program
from hai_lab.problem import Problem
from kit.waiting import until


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let a piece of Python stand for haienv."""

    def use(code: str) -> None:
        monkeypatch.setattr(program, "command", lambda: [sys.executable, "-c", code])

    return use


def test_the_installed_package_goes_before_a_program_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert program.command() == [sys.executable, "-P", "-m", "haienv"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert program.command() == ["/usr/bin/haienv"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(Problem, match="haienv is not installed") as refused:
        program.command()
    assert (refused.value.status, "pip install" in refused.value.detail) == (503, True)


def test_no_token_of_the_server_reaches_a_build_script() -> None:
    secrets = dict.fromkeys(("HAI_TOKEN", "JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN", "JUPYTER_TOKEN"), "secret")
    found = program.variables({**secrets, "JUPYTERHUB_COOKIE_SECRET": "secret", "HAIENV_ROOT": "/envs", "NO_COLOR": ""})
    assert found == {"HAIENV_ROOT": "/envs", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}


async def test_an_answer_is_the_json_of_stdout(says: Any) -> None:
    says("import json, sys; print('noise', file=sys.stderr); print(json.dumps(sys.argv[1:]))")
    assert await program.read(["show", "base/x"]) == ["show", "base/x", "--json"]


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("print('no json')", 503, "haienv show has answered with something else than JSON."),
        ("import sys; sys.exit('haienv: name: there is none')", 400, "name: there is none"),
        ("import sys; sys.exit(3)", 400, "haienv has failed without saying why."),
        ("import os; os.write(2, b'\\xff'); raise SystemExit(1)", 400, "\ufffd"),
        ("import sys; sys.exit('x' * 9000)", 400, "x" * 2000),
    ],
    ids=["no JSON", "refused", "silent", "no UTF-8", "long"],
)
async def test_a_failure_is_told_in_the_commands_own_words(says: Any, code: str, status: int, said: str) -> None:
    says(code)
    with pytest.raises(Problem) as refused:
        await program.read(["show"])
    assert (refused.value.status, refused.value.detail) == (status, said)


async def test_a_command_that_gives_no_answer_is_killed(
    says: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    says("import time; time.sleep(600)")
    started: list[asyncio.subprocess.Process] = []
    start = program.start

    async def noted(*given: Any, **more: Any) -> asyncio.subprocess.Process:
        started.append(await start(*given, **more))
        return started[-1]

    monkeypatch.setattr(program, "start", noted)
    with pytest.raises(Problem, match="haienv list has given no answer") as refused:
        await program.read(["list"], patience_s=0.0)
    assert refused.value.status == 503
    assert await asyncio.wait_for(started[0].wait(), 10) == -signal.SIGKILL


async def test_a_program_that_cannot_be_executed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(program, "command", lambda: [str(tmp_path / "haienv")])
    with pytest.raises(Problem, match="haienv cannot be started: No such file or directory") as refused:
        await program.start(["list"], stderr=asyncio.subprocess.PIPE)
    assert refused.value.status == 503


async def test_the_end_is_told_to_all_that_the_command_has_started(says: Any, tmp_path: Path) -> None:
    """The pip of a build is not to go on when its haienv has ended."""
    note = tmp_path / "child"
    child = f"import os, pathlib, time; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(600)"
    says(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")
    process = await program.start([], stderr=asyncio.subprocess.DEVNULL)
    await until("the child to run", lambda: note.exists() and note.read_text() != "")
    program.end(process, signal.SIGKILL)
    assert await asyncio.wait_for(process.wait(), 10) == -signal.SIGKILL
    gone = Path("/proc", note.read_text())
    await until("the child to end", lambda: not gone.exists() or "(zombie)" in (gone / "status").read_text())


async def test_the_end_of_one_that_has_ended_is_no_error(says: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    says("pass")
    process = await program.start([], stderr=asyncio.subprocess.DEVNULL)
    await process.wait()

    def no(*_: object) -> None:
        raise AssertionError("its number may be another process by now")

    monkeypatch.setattr("os.killpg", no)
    program.end(process, signal.SIGINT)
