"""The login that `hai up` leaves for the `hai` command."""

from __future__ import annotations

import http.server
import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hai_client.settings import Settings, config_path, save
from hai_hub.config.roles import LOCAL_TOKEN_SCOPES
from hai_hub.shared.errors import UpError
from hai_hub.up import login

#: A file that is not there.
BESIDE = Path("/nonexistent/up_login")


class FakeHub(http.server.ThreadingHTTPServer):
    """Knows one good token and makes one new one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.scopes = list(LOCAL_TOKEN_SCOPES)
        self.asked: list[dict[str, Any]] = []


class Answers(http.server.BaseHTTPRequestHandler):
    server: FakeHub

    def do_GET(self) -> None:
        if self.path == "/hub/health":
            self._send(200, {})
        elif self.path == "/hub/api/user" and self.headers["Authorization"] == "Bearer good":
            self._send(200, {"name": "ann", "scopes": self.server.scopes})
        else:
            self._send(403, {"message": "Forbidden"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        if self.headers["Authorization"] == "Bearer up" and self.path == "/hub/api/users/ann/tokens":
            self._send(201, {"token": "new"})
        else:
            self._send(403, {"message": "Forbidden"})

    def _send(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HAI_URL", "http://elsewhere.example")
    monkeypatch.setenv("HAI_TOKEN", "of-another-platform")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server = FakeHub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_first_start_gets_a_token_with_the_scopes_of_an_administrator(hub: FakeHub) -> None:
    got = login.log_in(hub.url, "ann", "up", BESIDE)
    assert (got.url, got.user, got.token) == (hub.url, "ann", "new")
    assert hub.asked[0]["scopes"] == list(LOCAL_TOKEN_SCOPES)


def test_a_login_that_is_still_good_is_used_again(hub: FakeHub) -> None:
    login.keep(Settings(hub.url, "good", "ann"), BESIDE)
    assert login.log_in(hub.url, "ann", "up", BESIDE).token == "good"
    assert hub.asked == []


def test_a_login_with_fewer_scopes_is_replaced(hub: FakeHub) -> None:
    login.keep(Settings(hub.url, "good", "ann"), BESIDE)
    hub.scopes = ["custom:hai:tasks:write"]
    assert login.log_in(hub.url, "ann", "up", BESIDE).token == "new"


@pytest.mark.parametrize("damaged", [b"", b"half\na token", b"\xff\xfe", "t\u20acken".encode()])
def test_a_damaged_file_beside_is_replaced(hub: FakeHub, tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "up_login").write_bytes(damaged)
    assert login.log_in(hub.url, "ann", "up", tmp_path / "up_login").token == "new"


def test_a_login_of_another_user_or_address_is_not_sent_anywhere(hub: FakeHub) -> None:
    login.keep(Settings(hub.url, "good", "bob"), BESIDE)
    assert login.log_in(hub.url, "ann", "up", BESIDE).token == "new"
    save(Settings("http://127.0.0.1:1", "good", "ann"))
    assert login.log_in(hub.url, "ann", "up", BESIDE).token == "new"


def test_a_hub_that_gives_no_token_is_an_error_without_the_token(hub: FakeHub) -> None:
    with pytest.raises(UpError, match=r"gave no token for ann: Forbidden") as refused:
        login.log_in(hub.url, "ann", "wrong-secret", BESIDE)
    assert "wrong-secret" not in str(refused.value)


def test_the_file_is_private_and_holds_address_user_and_token(hub: FakeHub) -> None:
    assert login.keep(Settings(hub.url, "good", "ann"), BESIDE) is None
    path = config_path()
    assert json.loads(path.read_text()) == {"url": hub.url, "user": "ann", "token": "good"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_folder_of_environments_stands_beside_the_login(hub: FakeHub, tmp_path: Path) -> None:
    login.keep(Settings(hub.url, "good", "ann"), BESIDE)
    got = login.log_in(hub.url, "ann", "up", BESIDE, haienv_root=Path("/state/my haienv"), state_dir=Path("/state"))
    assert (got.token, got.haienv_root, got.state_dir) == ("good", "/state/my haienv", "/state")
    assert login.keep(got, BESIDE) is None
    kept = json.loads(config_path().read_text())
    assert (kept["haienv_root"], kept["state_dir"]) == ("/state/my haienv", "/state")
    assert login.log_in(hub.url, "ann", "up", BESIDE, haienv_root=None).haienv_root is None
    # While `hai` speaks to another platform, one line of a terminal is about this one, with its environments.
    save(Settings("https://hub.example", "precious", "ann"))
    assert login.exports(got, BESIDE)[0].endswith(" HAIENV_ROOT='/state/my haienv' HAIENV_USER=ann")


def test_a_login_for_another_platform_is_kept_and_that_is_said(hub: FakeHub) -> None:
    login.keep(Settings("https://hub.example", "precious", "ann"), BESIDE)
    said = login.keep(Settings(hub.url, "good", "ann"), BESIDE)
    assert said is not None
    assert "https://hub.example" in said
    assert "precious" not in said
    kept = config_path().with_name("config.before-up.json")
    assert json.loads(kept.read_text())["token"] == "precious"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_login_for_another_platform_that_runs_is_kept_and_the_way_here_is_told(hub: FakeHub, tmp_path: Path) -> None:
    login.keep(Settings(hub.url, "precious", "bob"), BESIDE)
    beside = tmp_path / "up_login"
    said = login.keep(Settings("http://127.0.0.1:1", "good", "ann"), beside)
    assert said is not None
    for word in (hub.url, "bob", "hai login --url http://127.0.0.1:1 --user ann", "HAI_URL=http://127.0.0.1:1"):
        assert word in said
    assert "precious" not in said
    assert "good" not in said
    assert json.loads(config_path().read_text())["token"] == "precious"
    assert (beside.read_text(), stat.S_IMODE(beside.stat().st_mode)) == ("good\n", 0o600)


def test_a_login_that_is_kept_beside_is_used_again(hub: FakeHub, tmp_path: Path) -> None:
    beside = tmp_path / "up_login"
    beside.write_text("good\n")
    assert login.log_in(hub.url, "ann", "up", beside).token == "good"
    assert hub.asked == []


def test_the_login_of_another_user_here_is_replaced_and_that_is_said(hub: FakeHub) -> None:
    login.keep(Settings(hub.url, "precious", "bob"), BESIDE)
    said = login.keep(Settings(hub.url, "good", "ann"), BESIDE)
    assert said is not None
    assert "as bob" in said
    assert "as ann" in said
    kept = config_path().with_name("config.before-up.json")
    assert str(kept) in said
    assert json.loads(kept.read_text())["token"] == "precious"


def test_a_dead_token_of_the_same_user_is_replaced_without_a_word(hub: FakeHub) -> None:
    login.keep(Settings(hub.url, "dead", "ann"), BESIDE)
    assert login.keep(Settings(hub.url, "good", "ann"), BESIDE) is None
    assert json.loads(config_path().read_text())["token"] == "good"


def test_what_is_to_be_typed_names_this_platform_where_the_command_speaks_to_another(
    hub: FakeHub, tmp_path: Path
) -> None:
    here = Settings("http://127.0.0.1:9", "t", "ann")
    beside = tmp_path / "up login"
    save(Settings(hub.url, "good", "ann"))
    assert "goes on speaking" in str(login.keep(here, beside))
    assert login.exports(here, beside) == [f"export HAI_URL={here.url} HAI_TOKEN=$(cat '{beside}')"]
    save(here)
    assert login.exports(here, beside) == []
