"""Installing `hai up` as a service: what is written, what systemd is asked, what is refused."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hai_client.linux.identity import Account
from hai_hub.shared.errors import UpError
from hai_hub.up import options as options_module
from hai_hub.up import service as service_module
from hai_hub.up.command import command
from hai_hub.up.options import parse
from hai_hub.up.service import Systemd, change_service
from hai_hub.up.unit import MARK

ME = Account(name="hai", uid=os.geteuid(), gid=os.getegid(), groups=[], home="/", shell="/bin/sh")


class Machine:
    """A machine with a folder of units, and a systemd that notes what it is asked."""

    def __init__(self, folder: Path, *, for_machine: bool = True) -> None:
        self.asked: list[str] = []
        self.fails: str | None = None
        self.systemd = Systemd(for_machine=for_machine, folder=folder / "units", booted=True, call=self._call)
        self.state = folder / "state"

    def _call(self, words: Sequence[str]) -> int:
        self.asked.append(" ".join(words))
        return int(self.fails is not None and self.fails in words)

    def change(self, *words: str) -> int:
        options = parse([*words, f"--state-dir={self.state}"])
        assert options.service is not None
        return change_service(options, options.service, self.systemd)

    @property
    def unit(self) -> str:
        return self.systemd.file.read_text()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with the command `hai`, which all accounts may read."""
    made = tmp_path / "bin" / "hai"
    made.parent.mkdir()
    made.touch()
    monkeypatch.setattr(sys, "executable", str(made.with_name("python")))
    monkeypatch.setattr(service_module, "closed_folder", lambda _: None)
    monkeypatch.setenv("SUDO_USER", "Ann")
    return made


@pytest.fixture
def machine(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which root installs; there is an account `hai`."""
    monkeypatch.setattr(options_module, "is_root", lambda: True)
    monkeypatch.setattr(service_module, "account_named", {"hai": ME}.get)
    return Machine(tmp_path)


def test_it_is_written_for_all_to_read_enabled_and_started(machine: Machine, program: Path) -> None:
    assert machine.change("--install-service", "--port", "9000", "--gpus-per-node", "0") == 0
    start = f"ExecStart={program} up --state-dir={machine.state} --user=ann --port=9000 --gpus-per-node=0\n"
    assert start in machine.unit
    assert "\nUser=hai\n" in machine.unit
    assert machine.asked == ["systemctl daemon-reload", "systemctl enable --now hai"]
    assert stat.S_IMODE(machine.state.stat().st_mode) == 0o700


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_its_account_reaches_its_folder_and_nobody_else_changes_it(machine: Machine, tmp_path: Path, mask: int) -> None:
    machine.state = tmp_path / "srv" / "state"
    before = os.umask(mask)
    try:
        assert machine.change("--install-service") == 0
    finally:
        os.umask(before)
    made = (machine.state.parent, machine.state, machine.systemd.folder, machine.systemd.file)
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o755, 0o700, 0o755, 0o644]


def test_files_are_named_so_that_they_are_found_from_anywhere(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "hub.toml").touch()
    relative = os.path.relpath(tmp_path / "hub.toml")
    machine.change("--install-service", "--hub-config", relative)
    (named,) = [word for word in machine.unit.split() if word.startswith("--hub-config=")]
    assert os.path.isabs(named.partition("=")[2])  # noqa: PTH117
    assert Path(named.partition("=")[2]).samefile(tmp_path / "hub.toml")


def test_the_same_again_changes_nothing_and_other_options_are_told(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.change("--install-service", "--port", "9000")
    before = machine.systemd.file.stat()
    capsys.readouterr()
    machine.change("--install-service", "--port", "9000")
    assert "is as it was" in capsys.readouterr().out
    assert machine.systemd.file.stat().st_ino == before.st_ino
    machine.change("--install-service", "--port", "9001")
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("  -", "  +"))]
    assert [(line[2], "--port=900" in line, line[-1]) for line in said] == [("-", True, "0"), ("+", True, "1")]


def test_the_local_user_stays_the_one_of_the_state_folder(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.state.mkdir()
    (machine.state / "state.json").write_text(json.dumps({"format": 1, "user": "eve", "hub_port": 1}))
    machine.change("--install-service")
    assert "--user=eve" in machine.unit
    machine.change("--install-service", "--user", "bob")
    assert "--user=bob" in machine.unit


def test_the_own_account_is_made_with_a_shell_and_without_a_password(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Account] = {}
    monkeypatch.setattr(service_module, "account_named", made.get)
    call = machine.systemd.call

    def useradd(words: Sequence[str]) -> int:
        if words[0] == "useradd":
            made["hai"] = ME
        return call(words)

    object.__setattr__(machine.systemd, "call", useradd)
    machine.change("--install-service")
    assert machine.asked[0] == (
        f"useradd --system --user-group --no-create-home --home-dir {machine.state} --shell /bin/bash hai"
    )


def test_a_start_that_fails_is_told_with_where_to_look(machine: Machine) -> None:
    machine.fails = "enable"
    with pytest.raises(UpError, match="journalctl -u hai -n 50") as failed:
        machine.change("--install-service")
    assert failed.value.exit_code == 1
    assert machine.systemd.file.exists()


def test_without_root_it_is_the_users_own_and_lingering_is_explained(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(service_module.getpass, "getuser", lambda: "ann")
    monkeypatch.setattr(service_module, "account_named", {"ann": ME}.get)
    machine = Machine(tmp_path, for_machine=False)
    machine.change("--install-service")
    assert "User=" not in machine.unit
    assert machine.asked == ["systemctl --user daemon-reload", "systemctl --user enable --now hai"]
    assert "sudo loginctl enable-linger ann" in capsys.readouterr().out
    with pytest.raises(UpError, match="--service-user is for root"):
        machine.change("--install-service", "--service-user", "bob")


def test_it_is_removed_and_what_was_kept_stays(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.change("--install-service")
    machine.asked.clear()
    assert machine.change("--remove-service") == 0
    assert machine.asked == ["systemctl disable --now hai", "systemctl daemon-reload"]
    assert not machine.systemd.file.exists()
    assert machine.state.is_dir()
    assert machine.change("--remove-service") == 0
    assert "nothing to remove" in capsys.readouterr().out


def test_a_service_that_does_not_stop_is_not_removed(machine: Machine) -> None:
    machine.change("--install-service")
    machine.fails = "disable"
    with pytest.raises(UpError, match="nothing is removed"):
        machine.change("--remove-service")
    assert MARK in machine.unit


@pytest.mark.parametrize("verb", ["--install-service", "--remove-service"])
def test_a_unit_of_somebody_else_is_left_alone(machine: Machine, verb: str) -> None:
    machine.systemd.folder.mkdir()
    machine.systemd.file.write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(UpError, match="was not written by"):
        machine.change(verb)
    assert machine.unit == "[Service]\nExecStart=/bin/true\n"
    assert machine.asked == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--service-user", "nobody-there"], "there is no such account"),
        (["--service-user", "-x"], "there is no such account"),
        (["--service-user", "a b"], "there is no such account"),
    ],
)
def test_an_account_that_is_not_there_is_refused(machine: Machine, words: list[str], said: str) -> None:
    with pytest.raises(UpError, match=said):
        machine.change("--install-service", f"{words[0]}={words[1]}")
    assert not machine.systemd.file.exists()


def test_a_state_folder_of_another_account_is_refused(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Account(name="hai", uid=os.geteuid() + 1, gid=1, groups=[], home="/", shell="/bin/sh")
    monkeypatch.setattr(service_module, "account_named", {"hai": other}.get)
    machine.state.mkdir()
    with pytest.raises(UpError, match="name its account with --service-user"):
        machine.change("--install-service")
    assert not machine.systemd.file.exists()


def test_where_systemd_does_not_run_the_unit_can_be_seen_and_nothing_else(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    object.__setattr__(machine.systemd, "booted", False)
    for verb in ("--install-service", "--remove-service"):
        with pytest.raises(UpError, match="systemd does not run this machine"):
            machine.change(verb)
    assert machine.change("--install-service", "--print") == 0
    printed = capsys.readouterr().out
    assert printed.startswith(MARK)
    assert printed.endswith("WantedBy=multi-user.target\n")
    assert not machine.systemd.file.exists()
    assert not machine.state.exists()
    assert machine.asked == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--install-service", "--remove-service"], "are opposites"),
        (["--print"], "--print belongs to --install-service"),
        (["--service-user", "hai"], "--service-user belongs to --install-service"),
        (["--remove-service", "--print"], "--print belongs to --install-service"),
        (["--install-service", "--password", "a long secret"], "everybody on this machine can read a unit"),
        (["--install-service", "--print", "--password", "a long secret"], "everybody on this machine can read a unit"),
    ],
)
def test_words_that_do_not_go_together_are_refused_without_a_secret_in_the_answer(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["--state-dir", str(tmp_path / "state"), *words]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "a long secret" not in captured.err + captured.out
    assert not (tmp_path / "state").exists()
