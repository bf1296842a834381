"""The words of `hai up`."""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_hub.shared.errors import UpError
from hai_hub.up.command import command
from hai_hub.up.options import login_name, parse


def test_without_words_it_is_loopback_port_8000_and_the_xdg_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/x/state")
    options = parse([])
    assert (options.ip, options.port, options.state_dir) == ("127.0.0.1", 8000, Path("/x/state/hai"))
    assert (options.user, options.password, options.nodes, options.gpus_per_node) == (None, None, None, None)


def test_a_password_is_not_in_the_repr() -> None:
    assert "hunter22" not in repr(parse(["--password", "hunter22"]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "0"], "'0' is not a whole number from 1 to 65535"),
        (["--port", "abc"], "'abc' is not a whole number"),
        (["--nodes", "0"], "--nodes: '0' is not"),
        (["--gpus-per-node", "-1"], "--gpus-per-node"),
        (["--password", "short"], "--password: 5 characters are too few; give it at least 8"),
        (["--user", "a b"], "--user 'a b' is no user name"),
        (["--user", "../x"], "--user '../x' is no user name"),
        (["--nodes-file", "/nowhere.toml"], "--nodes-file /nowhere.toml: there is no such file"),
        (["--nodes-file", __file__, "--nodes", "2"], "leave out --nodes"),
        (["--hub-config", __file__], "is not TOML"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
    ],
)
def test_wrong_words_end_with_status_2_and_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    assert command(["--state-dir", str(state), *words]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not state.exists()


def test_help_ends_with_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["--help"]) == 0
    assert "--state-dir" in capsys.readouterr().out


def test_names_are_lower_case_as_the_hub_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(["--user", "Ann"]).user == "ann"
    monkeypatch.setattr("getpass.getuser", lambda: "Ann.Example")
    assert login_name() == "ann.example"


def test_a_login_name_that_the_hub_would_not_take_asks_for_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "COMPANY\\ann")
    with pytest.raises(UpError, match="--user"):
        login_name()


@pytest.mark.parametrize(
    ("text", "said"), [("[lower]\nx = 1\n", "'lower' is no class"), ("[Spawner]\nX = 1\n", "'X' in \\[Spawner\\]")]
)
def test_a_file_of_overrides_is_checked_before_anything_starts(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "hub.toml"
    file.write_text(text)
    with pytest.raises(UpError, match=said) as refused:
        parse(["--hub-config", str(file)])
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("words", "ip", "port"),
    [
        ([], "0.0.0.0", 9000),
        (["--ip", "127.0.0.1"], "127.0.0.1", 9000),
        (["--port", "8140"], "0.0.0.0", 8140),
        (["--ip", "::1", "--port", "8000"], "::1", 8000),
    ],
)
def test_an_option_goes_before_what_the_file_says_of_the_address(
    tmp_path: Path, words: list[str], ip: str, port: int
) -> None:
    file = tmp_path / "hub.toml"
    file.write_text('[JupyterHub]\nbind_url = "http://0.0.0.0:9000/lab/"\n')
    options = parse(["--hub-config", str(file), *words])
    assert (options.ip, options.port, options.addresses.base_url) == (ip, port, "/lab/")


def test_an_address_that_cannot_be_is_refused_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "hub.toml"
    file.write_text('[JupyterHub]\nssl_cert = "/etc/cert.pem"\n')
    with pytest.raises(UpError, match=f"--hub-config {file}: JupyterHub.ssl_cert = '/etc/cert.pem': ") as refused:
        parse(["--hub-config", str(file)])
    assert refused.value.exit_code == 2
