"""The unit of systemd: what it says, and that systemd reads each word as it was given."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hai_hub.shared.errors import UpError
from hai_hub.up.unit import Unit

UNIT = Unit(
    program=Path("/opt/hai/bin/hai"),
    words=("--state-dir=/var/lib/hai", "--port=8000"),
    state_dir=Path("/var/lib/hai"),
    account="hai",
    port=8000,
)
#: Words of a command line, and how a unit writes them.
WRITTEN = [
    ("--hub-config=/etc/hai/hub.toml", "--hub-config=/etc/hai/hub.toml"),
    ("--hub-config=/srv/a b.toml", '"--hub-config=/srv/a b.toml"'),
    ("--unix-users={username}", '"--unix-users={username}"'),
    ("--user=%h", '"--user=%%h"'),
    ("--user=50%%", '"--user=50%%%%"'),
    ("$HOME", '"$$HOME"'),
    ("${HOME} $", '"$${HOME} $$"'),
    ('--user="q"', '"--user=\\"q\\""'),
    ("it's", '"it\'s"'),
    ("back\\slash\\n", '"back\\\\slash\\\\n"'),
    (";", '";"'),
    ("# no comment", '"# no comment"'),
    ("--user=zoë 李雷", '"--user=zoë 李雷"'),
]


def read(text: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    return unit


def test_a_service_of_the_machine_stops_cleanly_and_takes_no_task_with_it() -> None:
    unit = read(UNIT.text())
    service = unit["Service"]
    assert service["User"] == "hai"
    assert (service["StateDirectory"], service["StateDirectoryMode"]) == ("hai", "0700")
    assert shlex.split(service["ExecStart"]) == ["/opt/hai/bin/hai", "up", *UNIT.words]
    assert (service["KillSignal"], service["KillMode"]) == ("SIGINT", "process")
    assert service["RestartPreventExitStatus"] == "2", "wrong input, or the port is in use: docs say so"
    assert int(service["TimeoutStopSec"]) > 25 + 30, "25 s for tasks to save, half a minute for the Hub's servers"
    assert int(service["TimeoutStartSec"]) > 180, "how long a start may take (hai_hub.up.ready)"
    assert service["OOMPolicy"] == "continue", "one task that is killed for its memory must not end all of them"
    assert unit["Unit"]["RequiresMountsFor"] == "/var/lib/hai"
    assert unit["Install"]["WantedBy"] == "multi-user.target"


def test_a_service_of_one_user_names_no_account_and_no_target_of_the_machine() -> None:
    unit = read(replace(UNIT, account=None, state_dir=Path("/home/ann/.local/state/hai")).text())
    assert not {"User", "StateDirectory"} & set(unit["Service"])
    assert not {"Wants", "After"} & set(unit["Unit"])
    assert unit["Install"]["WantedBy"] == "default.target"


@pytest.mark.parametrize(
    ("account", "port", "granted"), [("hai", 443, True), ("hai", 8443, False), ("root", 443, False), (None, 443, False)]
)
def test_a_low_port_needs_one_right_and_only_where_it_is_not_there(
    account: str | None, port: int, granted: bool
) -> None:
    text = replace(UNIT, account=account, port=port).text()
    assert ("AmbientCapabilities=CAP_NET_BIND_SERVICE" in text) is granted


@pytest.mark.parametrize(("word", "written"), WRITTEN)
def test_a_word_is_written_as_systemd_reads_it(word: str, written: str) -> None:
    start = read(replace(UNIT, words=(word,)).text())["Service"]["ExecStart"]
    assert start == f"/opt/hai/bin/hai up {written}"


@pytest.mark.parametrize("word", ["two\nlines", "a\ttab", "bell\a", "\x7f", "not \udcff UTF-8", "line\u2028break"])
def test_a_word_that_no_unit_can_hold_is_refused(word: str) -> None:
    with pytest.raises(UpError, match="control character") as refused:
        replace(UNIT, words=(word,)).text()
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("path", ['/opt/"hai"/bin/hai', "/opt/hai's/bin/hai", "/opt/h\\ai/bin/hai"])
def test_a_program_that_systemd_would_not_run_is_refused(path: str) -> None:
    with pytest.raises(UpError, match="quotes or backslashes"):
        replace(UNIT, program=Path(path)).text()


@pytest.mark.parametrize("name", ["state", "a b", "50%u", "$HOME", 'q"q', "x:y", "zoë"])
@pytest.mark.parametrize("account", ["root", None])
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit_and_reads_every_word(tmp_path: Path, name: str, account: str | None) -> None:
    program = tmp_path / ("bin of " + name.replace('"', "-")) / "hai"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    words = tuple(word for word, _ in WRITTEN)
    state = Path("/var/lib") / name
    file = tmp_path / "hai.service"
    file.write_text(Unit(program=program, words=words, state_dir=state, account=account, port=443).text())
    done = subprocess.run(
        ["systemd-analyze", "verify", file],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "debug"},
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert re.findall(r"hai\.service:\d+: .*", said) == []
    (line,) = re.findall(r"Command Line: (.*)", said)
    # systemd shows words as a shell would read them, before it reads `$$` as `$`; programs have no variables.
    shown = shlex.split(re.sub(r"\\([$`])", r"\1", line))
    assert shown[0] == str(program)
    assert [word.replace("$$", "$") for word in shown[1:]] == ["up", *words]
    assert f"RequiresMountsFor: {state} " in said
