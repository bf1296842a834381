"""A platform that moves: its folder is copied, and started elsewhere on another port."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.conftest import BIN, Platform
from kit.waiting import wait_for

pytestmark = pytest.mark.e2e


def test_users_tasks_and_logs_go_with_the_folder(tmp_path: Path) -> None:
    old, new = (Platform(tmp_path / name, nodes=1) for name in ("old", "new"))
    old.home.mkdir()
    new.home.mkdir()
    try:
        old.start()
        bob = old.token("bob")
        done = old.json("submit", "--shell", "echo it was there")["id"]
        wait_for("the first task", lambda: old.json("status", str(done))["state"] == "succeeded")
        held = old.json("submit", "--grace", "1s", "--shell", "echo in $HAI_CHECKPOINT_DIR; exec sleep 600")["id"]
        wait_for("its log", lambda: f"{old.state}/checkpoints/ann/{held}" in old.hai("logs", str(held)).stdout)
        old.interrupt()

        shutil.copytree(old.state, new.state, symlinks=True)
        # What is left of the old one must not be needed.
        old.state.rename(old.home / "aside")
        new.start()
        assert "it was there" in new.hai("logs", str(done)).stdout
        wait_for(
            "the task to go on, with its checkpoints where they are now",
            lambda: f"{new.state}/checkpoints/ann/{held}" in new.hai("logs", str(held)).stdout,
        )
        assert new.json("submit", "--shell", "true")["id"] > held, "no id is given twice"
        said = subprocess.run(
            [BIN / "hai", "--json", "list"],
            env=new.env | {"HAI_URL": new.url, "HAI_TOKEN": bob},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (said.returncode, json.loads(said.stdout)["items"]) == (0, []), "the token of before"
    finally:
        old.end()
        new.end()
