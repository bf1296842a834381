"""`hai login` by way of a browser where the Hub is below a path, has a public address, and makes short-lived tokens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import pytest

from kit.waiting import PATIENCE, wait_for

if TYPE_CHECKING:
    from conftest import Up

BELOW = "/team/lab"
LONGEST_S = 7200


@pytest.fixture(scope="module")
def below(up_class: type[Up], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    made = up_class(tmp_path_factory.mktemp("below") / "home")
    # Another name than that by which the command reaches it.
    public = f"http://localhost:{made.port}{BELOW}/"
    with (made.home / "hub.toml").open("a") as file:
        file.write(
            f'[JupyterHub]\nbase_url = "{BELOW}/"\npublic_url = "{public}"\n'
            f"token_expires_in_max_seconds = {LONGEST_S}\n"
        )
    try:
        made.start()
        yield made
    finally:
        made.end()


def hai(up: Up, folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    environ = up.environ | {"XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, "-m", "hai_client", *words]
    return subprocess.run(
        command, env=environ, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


class Browser:
    """A browser at the Hub's public address."""

    def __init__(self, up: Up) -> None:
        self._opener: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))
        self.url = f"http://localhost:{up.port}{BELOW}"

    def go(self, path: str, **form: str) -> Any:
        url = f"{self.url}{path}"
        if not form:
            return self._opener.open(url, timeout=PATIENCE)
        found = re.search(r'name="_xsrf" value="([^"]*)"', self.go(path).read().decode())
        assert found is not None
        sent = urlencode({"_xsrf": found[1], **form}).encode()
        return self._opener.open(Request(url, sent), timeout=PATIENCE)


def test_the_command_names_the_public_address_and_gets_a_token_that_ends_in_time(below: Up, tmp_path: Path) -> None:
    inner = f"{below.url}{BELOW}"
    environ = below.environ | {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    log = tmp_path / "said"
    with (
        log.open("w") as said,
        subprocess.Popen(
            [sys.executable, "-m", "hai_client", "login", "--url", inner],
            env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True,
        ) as process,
    ):  # fmt: skip
        try:
            wait_for("the code", lambda: "type the code" in log.read_text())
            found = re.search(r"type the code ([A-Z-]+)", log.read_text())
            assert found is not None
            browser = Browser(below)
            assert f"open {browser.url}/hub/hai/device in a browser" in log.read_text()
            browser.go("/hub/login", username="ann", password=below.password)
            text = browser.go("/hub/hai/device", user_code=found[1]).read().decode()
            assert "2 hours from now" in text
            browser.go("/hub/hai/device", user_code=found[1], answer="yes")
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert f"logged in at {inner} as ann until " in out
    kept = json.loads((tmp_path / "hai" / "config.json").read_text())
    assert kept["url"] == inner, "the address that was given, which this machine can reach"
    assert "the token is revoked" in hai(below, tmp_path, "logout").stdout


def test_a_password_gets_a_token_that_ends_in_time_too(below: Up, tmp_path: Path) -> None:
    words = ("login", "--url", f"{below.url}{BELOW}", "--user", "ann", "--password-stdin")
    done = hai(below, tmp_path, *words, given=f"{below.password}\n")
    assert (done.returncode, " as ann until " in done.stdout) == (0, True), done.stderr


def test_an_address_without_a_hub_of_hai_is_told_from_a_refusal(below: Up, tmp_path: Path) -> None:
    """Above the path there is no Hub: nobody is asked for a password there."""
    done = hai(below, tmp_path, "login", "--url", below.url)
    assert done.returncode != 0
    assert "password" not in done.stderr
    assert "user:" not in done.stderr
