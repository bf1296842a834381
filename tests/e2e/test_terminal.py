"""A terminal of JupyterLab: the commands of the platform are there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from e2e.conftest import BIN, Platform
from kit.terminals import typed
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e


def test_the_platforms_commands_are_there(platform: Platform) -> None:
    """On Debian /etc/profile replaces PATH; here the user's own does too, on whatever machine."""
    commands_are_there(platform)


def commands_are_there(platform: Platform) -> None:
    """Start ann's server, and type in a terminal of it what works there."""
    home = platform.state / "home" / "ann"
    home.mkdir(exist_ok=True)
    (home / ".profile").write_text("PATH=/usr/bin:/bin; export PATH\n")
    sent = {"note": "test", "auth": {"username": "ann", "password": "a long enough word"}}
    token = platform.ask_hub("POST", "/users/ann/tokens", sent)["token"]
    platform.ask_hub("POST", "/users/ann/server", {}, token=token)
    wait_for("the server", lambda: platform.ask_hub("GET", "/users/ann", token=token)["servers"][""]["ready"])
    line = "command -v python haienv hai sbatch; hai list; haienv list; python -c 'import hai_client; print(40 + 2)'"
    said = asyncio.run(typed(f"{platform.url}/user/ann", token, line))
    assert "not found" not in said, said
    found = [Path(one.strip()) for one in said.splitlines() if one.startswith("/")]
    assert [one.parent for one in found[:3]] == [BIN] * 3, said
    assert "no unfinished task of yours" in said, said
    assert "42" in said.splitlines(), said
