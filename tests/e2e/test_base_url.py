"""A platform below a path, as the file of `--hub-config` says, and what is reached through its addresses."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from e2e.conftest import Platform
from e2e.test_terminal import commands_are_there
from hai_hub.shared.ports import is_free
from kit.ports import free_port
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.e2e
#: The address of the file is not the one of the options, which go before it.
OVERRIDES = """
[JupyterHub]
bind_url = "http://0.0.0.0:{other}/team/lab/"
hub_port = {hub}
[HaiCulling]
enabled = true
"""


@pytest.fixture(scope="module")
def other() -> int:
    return free_port()


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory, other: int) -> Iterator[Platform]:
    home, hub = tmp_path_factory.mktemp("below"), free_port()
    (home / "hub.toml").write_text(OVERRIDES.format(other=other, hub=hub))
    options = ("--ip", "127.0.0.1", "--hub-config", str(home / "hub.toml"))
    made = Platform(home, nodes=2, options=options, below="/team/lab")
    try:
        made.start()
        yield made
    finally:
        made.end()


def answer(platform: Platform, path: str, token: str = "") -> tuple[int, str, str]:
    """Status, `Location` and text of what a path below the platform's answers."""
    connection = http.client.HTTPConnection("127.0.0.1", platform.port, timeout=PATIENCE)
    try:
        headers = {"Authorization": f"token {token}"} if token else {}
        connection.request("GET", f"{platform.below}{path}", headers=headers)
        found = connection.getresponse()
        return found.status, found.headers.get("Location", ""), found.read().decode()
    finally:
        connection.close()


def test_it_listens_where_the_options_say_and_every_page_is_below_the_path(below: Platform, other: int) -> None:
    said = (below.home / "up.log").read_text()
    assert f"  address   {below.url}\n" in said
    assert "without encryption" not in said
    assert answer(below, "/hub/health")[0] == 200
    assert answer(below, "/services/hai/api/v1/health")[0] == 200
    for path in ("/", "/services/hai/"):
        status, place, _ = answer(below, path)
        assert (status, place.startswith(f"{below.below}/hub/")) == (302, True), place
    assert is_free("127.0.0.1", other), "nothing listens where only the file says"


def test_tasks_run_and_reach_the_platform(below: Platform) -> None:
    code = "import os; print(os.environ['HAI_API_URL'])"
    said = below.hai("submit", "-f", "--", "python", "-c", code).stdout
    assert f"{below.below}/services/hai/api/v1" in said
    assert "succeeded" in said


def test_a_server_its_terminal_and_the_panel_reach_the_platform(below: Platform) -> None:
    commands_are_there(below)
    sent = {"note": "test", "auth": {"username": "ann", "password": "a long enough word"}}
    token = below.ask_hub("POST", "/users/ann/tokens", sent)["token"]
    status, _, text = answer(below, "/user/ann/hai-lab/api/me", token)
    assert (status, json.loads(text)["name"]) == (200, "ann")
    wait_for("the culler", lambda: answer(below, "/user/ann/hai-lab/lifetime", token)[0] == 200)
