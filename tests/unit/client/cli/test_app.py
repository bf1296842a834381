"""Whatever goes wrong is one line on stderr that names the field, and an exit status that says whose move it is."""

from __future__ import annotations

import http.server
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_client.cli import app, verbs

Hai = Callable[..., Any]

BAD = [
    ("lst", 2, "did you mean `hai list`?"),
    ("--frobnicate", 2, "--frobnicate"),
    ("submit", 2, "command: missing"),
    ("submit --", 2, "command: missing"),
    ("submit python x -- y", 2, "stands before the --"),
    ("submit -n 0 -- x", 2, "nodes: '0'"),
    ("submit -n two -- x", 2, "nodes: 'two'"),
    ("submit --gpus 0 -- x", 2, "gpus: '0'"),
    ("submit --retries -1 -- x", 2, "retries: '-1'"),
    ("submit --retry-backoff soon -- x", 2, "retry-backoff: 'soon'"),
    ("submit --retry-exit-codes 1,0 -- x", 2, "retry-exit-codes: '0' is not an exit status from 1 to 255"),
    ("submit --retry-exit-codes 1,,2 -- x", 2, "retry-exit-codes: ''"),
    ("submit -n", 2, "expected one argument"),
    ("submit --nodse 2 -- x", 2, "did you mean --nodes?"),
    ("submit -p urgent -- x", 2, "priority: 'urgent'"),
    ("submit --name a/b -- x", 2, "name: 'a/b'"),
    ("submit --name 41 -- x", 2, "task-41"),
    ("submit -e =1 -- x", 2, "env: '=1'"),
    ("submit -e NOT_SET_HERE -- x", 2, "-e NOT_SET_HERE=VALUE"),
    ("submit --grace soon -- x", 2, "grace: 'soon'"),
    ("submit --grace -1s -- x", 2, "grace: '-1s' is not a length of time"),
    ("submit --retry-backoff -30s -- x", 2, "retry-backoff: '-30s'"),
    ("submit --grace -n -- x", 2, "expected one argument"),
    ("submit --time-limit 0 -- x", 2, "time-limit: '0' is too short"),
    ("submit --profile polite -- x", 2, "choose from"),
    ("submit -n 65 -- x", 2, "more than your cap of 64"),
    ("python", 2, "file: missing"),
    ("python -- -n 2", 2, "file: missing"),
    ("python nope.py -- -n 2", 2, "file: 'nope.py' is not in"),
    ("python nope.py", 2, "file: 'nope.py' is not in"),
    ("bash nope.sh ++", 2, "file: 'nope.sh' is not in"),
    ("exec ./nope", 2, "command: './nope' cannot be run here"),
    ("python here.py -- -n x", 2, "nodes: 'x'"),
    ("python here.py -- -n 2 extra", 2, "extra: one word too many"),
    ("python here.py ++ -ss soon", 2, "after: 'soon'"),
    ("rehearse", 2, "command: missing"),
    ("rehearse --", 2, "command: missing"),
    ("rehearse --grace soon -- x", 2, "grace: 'soon'"),
    ("rehearse --signal HUP -- x", 2, "signal: 'HUP' is unknown; write TERM, INT, USR1 or USR2"),
    ("rehearse --profile polite -- x", 2, "choose from"),
    ("rehearse here.py -- x", 2, "command: 'here.py' stands before the --"),
    ("run", 2, "FILE: missing"),
    ("run nope.yml", 2, "file: 'nope.yml' cannot be read (no such file or directory)"),
    ("run here.py", 2, "file: 'here.py' is no experiment: spec.workspace: missing"),
    ("explain a\nb", 2, "task: 'a\\nb' is not an id or a name"),
    ("logs a\x1b[2J", 2, "task: 'a\\x1b[2J' is not an id or a name"),
    ("admin quota set user: HIGH 1", 2, "write user:NAME, group:NAME"),
    ("admin quota set alice HIGH 1", 2, "write user:alice, group:alice"),
    ("admin mounts set m user: /d --host-path /x", 2, "write user:NAME, group:NAME or public"),
    ("run binary.yml", 2, "not text in UTF-8"),
    ("run /dev/zero", 2, "file: '/dev/zero' is no experiment: the file is larger than 64 KiB"),
    ("list --state jolly", 2, "state: 'jolly'"),
    ("list -n 0", 2, "limit: '0'"),
    ("list --user a --all-users", 2, "not allowed with"),
    ("status", 2, "TASK: missing"),
    ("status nope", 2, "task: 'nope'"),
    ("status ..", 2, "task: '..'"),
    ("status a b", 2, "b: one word too many"),
    ("logs -r -1 x", 2, "rank: '-1'"),
    ("logs --search x -f digits", 2, "search: "),
    ("logs -f nope", 2, "task: 'nope'"),
    ("stop", 2, "task: missing; name one or more, or choose them with --tag"),
    ("stop nope", 2, "task: 'nope'"),
    ("priority digits", 2, "PRIORITY: missing"),
    ("priority digits AUTOMATIC", 2, "priority: 'AUTOMATIC'"),
    ("admin", 2, "verb: missing; one of cordon"),
    ("admin drain", 2, "NODE: missing"),
    ("admin drain node-9", 2, "node: 'node-9'"),
    ("admin drain ..", 2, "node: '..'"),
    ("admin quota set alice HIGH 2", 2, "write user:alice"),
    ("admin quota set public AUTO 2", 2, "priority: AUTO"),
    ("admin quota set public HIGH many", 2, "limit: 'many'"),
    ("completion tcsh", 2, "choose from"),
    ("login --user alice", 2, "password: there is no terminal"),
    ("login --token-stdin", 2, "token: not a token"),
    ("--url nowhere list", 2, "url: 'nowhere'"),
    ("list --url http://127.0.0.1:1", 4, "cannot reach http://127.0.0.1:1: connection refused"),
    ("--url http://127.0.0.1:1 submit -- x", 4, "connection refused"),
    ("logs -f x --url http://127.0.0.1:1", 4, "connection refused"),
]


@pytest.mark.parametrize(("line", "code", "part"), BAD, ids=[line for line, _, _ in BAD])
def test_bad_input_is_one_line_and_a_status(hai: Hai, platform: Any, line: str, code: int, part: str) -> None:
    platform.add("digits")
    Path("here.py").write_text("")
    Path("binary.yml").write_bytes(b"\xff\xfe\x00")
    result = hai(*line.split(" "))
    assert part in result.err
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith("hai: ")
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err


def test_a_bad_token_is_three(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAI_TOKEN", "wrong")
    result = hai("list")
    assert (result.code, result.err) == (3, "hai: token: not accepted; run `hai login`\n")


def test_no_token_is_three_and_says_how_to_get_one(hai: Hai, platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAI_TOKEN")
    result = hai("list")
    assert (result.code, result.out) == (3, "")
    assert f"hai login --url {platform.url}" in result.err


def test_trouble_on_the_other_side_is_one_and_still_one_line(hai: Hai, platform: Any, fake: Any) -> None:
    def fail(_call: Any) -> None:
        raise fake.Refuse(500, "internal", "something broke\nover\x1b[31m two lines")

    platform.before = [fail]
    result = hai("whoami")
    assert (result.code, result.err) == (1, "hai: something broke over [31m two lines\n")


def test_a_service_of_another_version_is_no_traceback(hai: Hai, platform: Any) -> None:
    platform.add("digits", nodes="two")
    result = hai("status", "digits")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "Task.nodes" in result.err


def break_list(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def broken(*_args: Any, **_options: Any) -> Any:
        raise error

    monkeypatch.setattr("hai_client.api.Client.tasks", broken)


def test_a_fault_of_our_own_is_one_line_unless_debugging(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> None:
    break_list(monkeypatch, ZeroDivisionError("oh"))
    result = hai("list")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "HAI_DEBUG=1" in result.err
    monkeypatch.setenv("HAI_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        hai("list")


def test_ctrl_c_ends_quietly_with_130(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> None:
    break_list(monkeypatch, KeyboardInterrupt())
    result = hai("list")
    assert (result.code, result.out, result.err) == (130, "", "")


def test_a_reader_that_leaves_is_no_error(platform: Any, fake: Any, clean_environment: Path) -> None:
    task = platform.add("digits")
    platform.logs[task["id"]] = ["x" * 100] * 3000
    environment = {
        "HAI_URL": platform.url, "HAI_TOKEN": fake.TOKEN, "HOME": str(clean_environment),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    line = [sys.executable, "-m", "hai_client", "logs", "digits"]
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 141


# --- help


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_hai_alone_shows_every_verb(hai: Hai, words: list[str]) -> None:
    result = hai(*words)
    assert (result.code, result.err) == (0, "")
    assert all(f"\n  {verb.name} " in result.out for verb in verbs.VERBS)
    assert max(map(len, result.out.splitlines())) <= 110


@pytest.mark.parametrize("name", [verb.name for verb in verbs.VERBS if verb.module])
def test_every_verb_has_help(hai: Hai, name: str) -> None:
    result = hai(name, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"usage: hai {name}")
    assert hai("help", name).out == result.out
    command = app.find(name)
    assert command is not None
    assert command.about.rstrip().endswith(".")


# --- verbs of other packages


class Point:
    name = "up"

    def __init__(self, command: Callable[[], Any]) -> None:
        self.load = command


def declare(monkeypatch: pytest.MonkeyPatch, *points: Point) -> None:
    def entry_points(*, group: str, name: str | None = None) -> tuple[Point, ...]:
        assert group == "hai.commands"
        return tuple(point for point in points if name in (None, point.name))

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_up_is_found_by_name_and_given_its_words(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def command(argv: list[str]) -> int:
        seen.append(argv)
        return 7

    declare(monkeypatch, Point(lambda: command))
    assert hai("up", "--nodes", "4", "--json").code == 7
    assert seen == [["--nodes", "4", "--json"]]


def missing() -> Any:
    raise ModuleNotFoundError("No module named 'jupyterhub'", name="jupyterhub")


@pytest.mark.parametrize("points", [[], [Point(missing)]])
def test_without_its_package_up_says_what_to_install(
    hai: Hai, monkeypatch: pytest.MonkeyPatch, points: list[Point]
) -> None:
    declare(monkeypatch, *points)
    result = hai("up")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "pip install 'hai-platform[up]'" in result.err


# --- colours


@pytest.mark.parametrize(
    ("environment", "terminal", "colored"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False), ({}, False, False)],
)
def test_colours_are_for_terminals_that_want_them(
    hai: Hai,
    platform: Any,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    terminal: bool,
    colored: bool,
) -> None:
    platform.add("digits")
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert ("\x1b[" in hai("list").out) is colored


def test_ctrl_c_while_following_ends_quietly_with_130(fake: Any, clean_environment: Path) -> None:
    opened, over = threading.Event(), threading.Event()

    class Silent(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if self.path.endswith("/tasks/digits"):
                content = json.dumps(fake.FakePlatform().add("digits")).encode()
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                return
            self.end_headers()
            self.wfile.write(b": keep-alive\n\n")
            self.wfile.flush()
            opened.set()
            over.wait(30)

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    environment = {
        "HAI_URL": f"http://127.0.0.1:{server.server_address[1]}", "HAI_TOKEN": "x", "HOME": str(clean_environment),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    line = [sys.executable, "-m", "hai_client", "logs", "-f", "digits"]
    try:
        with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert opened.wait(30)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (130, b"", b"")
    finally:
        over.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("name", ["../x", "a/b"])
def test_a_user_name_that_the_hub_refuses_is_refused_with_the_rule(hai: Hai, platform: Any, name: str) -> None:
    platform.admin = True
    result = hai("admin", "user", "add", name)
    assert (result.code, result.out) == (2, "")
    assert f"name: {name!r} is not a user name" in result.err
    assert "no '/'" in result.err
