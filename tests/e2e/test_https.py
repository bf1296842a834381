"""HTTPS before a platform, with and without a path: all that travels through it, and whose address it comes from."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from e2e.conftest import BIN, Platform
from e2e.fronts import FRONTS, PROGRAMS, Front, running
from kit.certificates import certificate
from kit.ports import free_port
from kit.terminals import typed
from kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.e2e
PASSWORD = "a long enough word"
#: More than web servers and the Hub take of one body by default.
LARGE = 12 * 1024 * 1024


class SafePlatform(Platform):
    """A platform with a certificate of its own. Its `port` is the one for this machine, without HTTPS."""

    https_port = 0

    def start(self) -> None:
        self.https_port = self.port
        ready, log = self.launch(), self.home / "up.log"
        wait_for("hai up to be ready", lambda: ready() or "hai submit" in log.read_text())
        self.port = json.loads((self.state / "state.json").read_text())["local_port"]


@pytest.fixture(scope="module", params=["", "/team/lab"], ids=["root", "path"])
def safe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SafePlatform]:
    home = tmp_path_factory.mktemp("safe")
    certificate(home, "hub", "localhost")
    (home / "hub.toml").write_text(
        f'[JupyterHub]\nbase_url = "{request.param}/"\ntrusted_downstream_ips = ["127.0.0.1"]\n'
    )
    files = ("--certificate", str(home / "hub.crt"), "--key", str(home / "hub.key"))
    options = (*files, "--hub-config", str(home / "hub.toml"))
    made = SafePlatform(home, nodes=2, options=options, below=request.param)
    try:
        made.start()
        sent = {"note": "test", "auth": {"username": "ann", "password": PASSWORD}}
        made.tokens["server"] = made.ask_hub("POST", "/users/ann/tokens", sent)["token"]
        made.ask_hub("POST", "/users/ann/server", {}, token=made.tokens["server"])
        token = made.tokens["server"]
        wait_for("the server", lambda: made.ask_hub("GET", "/users/ann", token=token)["servers"][""]["ready"])
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module", params=["own", *FRONTS])
def front(
    request: pytest.FixtureRequest, safe: SafePlatform, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Front]:
    if request.param == "own":
        yield Front(f"https://localhost:{safe.https_port}{safe.below}", safe.home / "hub.crt")
        return
    if PROGRAMS[request.param] is None:
        pytest.skip(f"no {request.param} on this machine: install the package")
    folder, port = tmp_path_factory.mktemp(request.param), free_port()
    certificate(folder, "hub", "localhost")
    made = Front(f"https://localhost:{port}{safe.below}", folder / "hub.crt")

    def answers() -> bool:
        try:
            return ask(made, "GET", "/hub/health")[0] == 200
        except OSError:
            return False

    with running(FRONTS[request.param](folder, port, safe.port, safe.below), folder, answers):
        yield made


def ask(
    front: Front, method: str, path: str, body: bytes | None = None, source: str = "127.0.0.1", **headers: str
) -> tuple[int, bytes]:
    """Status and body of an answer to a request that comes from an address of this machine."""
    port = urlsplit(front.url).port
    connection = http.client.HTTPSConnection(
        "localhost", port, timeout=PATIENCE, context=front.trust, source_address=(source, 0)
    )
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, urlsplit(front.url).path + path, body, sent)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def environment(front: Front, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HAI_", "XDG_"))}
    return kept | {"XDG_CONFIG_HOME": str(folder), "SSL_CERT_FILE": str(front.authority)}


def test_the_command_logs_in_submits_and_follows_a_log_as_it_is_written(
    safe: SafePlatform, front: Front, tmp_path: Path
) -> None:
    environ = environment(front, tmp_path)

    def hai(*words: str, given: str = "") -> str:
        done = subprocess.run(
            [BIN / "hai", *words], env=environ, input=given, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    hai("login", "--url", front.url, "--user", "ann", "--password-stdin", given=f"{PASSWORD}\n")
    go = tmp_path / "go"
    line = f"echo first; until [ -e {go} ]; do sleep 0.1; done; echo second"
    task = json.loads(hai("--json", "submit", "--cwd", str(tmp_path), "--shell", line))["id"]
    with subprocess.Popen(
        [BIN / "hai", "logs", "-f", str(task)], env=environ, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as following:
        assert following.stdout is not None
        said = iter(following.stdout.readline, "")
        assert next(one for one in said if "first" in one), "before the task has ended"
        go.touch()
        assert any("second" in one for one in said)


def browser_at(front: Front, jar: CookieJar) -> urllib.request.OpenerDirector:
    handlers = [urllib.request.HTTPSHandler(context=front.trust), urllib.request.HTTPCookieProcessor(jar)]
    return urllib.request.build_opener(*handlers)


def filled_in(browser: urllib.request.OpenerDirector, page: str, **fields: str) -> Any:
    """Send the form of a page; where the browser is led by that."""
    opened: Any = browser.open(page, timeout=PATIENCE)
    (xsrf,) = set(re.findall(r'name="_xsrf" value="([^"]+)"', opened.read().decode()))
    form = urlencode({**fields, "_xsrf": xsrf}).encode()
    return browser.open(urllib.request.Request(opened.url, form), timeout=PATIENCE)


def test_a_command_is_let_in_on_the_page_that_it_names(front: Front, tmp_path: Path) -> None:
    said = tmp_path / "said"
    with (
        said.open("w") as file,
        subprocess.Popen(
            [BIN / "hai", "login", "--url", front.url],
            env=environment(front, tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file, text=True,
        ) as process,
    ):  # fmt: skip
        try:
            wait_for("the code", lambda: "type the code" in said.read_text())
            ((page, code),) = re.findall(r"open (\S+) in a browser.* type the code ([A-Z-]+)", said.read_text())
            assert page == f"{front.url}/hub/hai/device"
            browser = browser_at(front, CookieJar())
            # The page leads to the login, and the login back to it.
            arrived = filled_in(browser, page, username="ann", password=PASSWORD)
            assert arrived.url == page
            assert "127.0.0.1" in filled_in(browser, page, user_code=code).read().decode()
            filled_in(browser, page, user_code=code, answer="yes")
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert f"logged in at {front.url} as ann until " in out


def test_a_browser_logs_in_and_its_cookies_travel_by_https_alone(front: Front) -> None:
    jar = CookieJar()
    browser = browser_at(front, jar)
    arrived = filled_in(browser, f"{front.url}/hub/login?next=", username="ann", password=PASSWORD)
    assert arrived.url.startswith(front.url), arrived.url
    studio: Any = browser.open(f"{front.url}/services/hai/", timeout=PATIENCE)
    assert (studio.status, studio.url) == (200, f"{front.url}/services/hai/")
    held = {cookie.name: cookie.secure for cookie in jar}
    assert len(held) >= 3
    assert [name for name, secure in held.items() if name.startswith("jupyterhub") and not secure] == []


def test_a_terminal_of_jupyterlab_is_a_websocket_through_it(safe: SafePlatform, front: Front) -> None:
    token = safe.tokens["server"]
    said = asyncio.run(typed(f"{front.url}/user/ann", token, "echo $((40 + 2))", front.trust))
    assert "42" in said.splitlines(), said


def test_a_large_upload_arrives(safe: SafePlatform, front: Front) -> None:
    content = os.urandom(LARGE)
    sent = {"type": "file", "format": "base64", "content": base64.b64encode(content).decode()}
    token = f"token {safe.tokens['server']}"
    status, said = ask(front, "PUT", "/user/ann/api/contents/large.bin", json.dumps(sent).encode(), Authorization=token)
    assert status in (200, 201), said
    assert (safe.state / "home/ann/large.bin").read_bytes() == content


def test_nobody_chooses_the_address_that_a_login_is_recorded_with(safe: SafePlatform, front: Front) -> None:
    # Another one for each front, as tries of one address are slowed.
    source = f"127.0.0.{2 + (urlsplit(front.url).port or 0) % 250}"
    sent = {"note": "guess", "auth": {"username": "eve", "password": "wrong wrong"}}
    status, _ = ask(
        front,
        "POST",
        "/hub/api/users/ann/tokens",
        json.dumps(sent).encode(),
        source,
        X_Forwarded_For="6.6.6.6",
        X_Real_IP="6.6.6.6",
        Forwarded="for=6.6.6.6",
    )
    assert status in (401, 403)
    last = (safe.state / "logs/logins.log").read_text().splitlines()[-1]
    assert f"failed user=eve from={source} " in last
