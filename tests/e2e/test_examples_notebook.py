"""The notebook that new users are given, executed as they would: on a real platform, in the folder they get."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from e2e.conftest import BIN, ROOT, Platform

pytestmark = pytest.mark.e2e


def test_the_first_notebook_does_what_it_says(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hai-examples"
    shutil.copytree(ROOT / "examples", folder)
    env = platform.env | {"HAI_URL": platform.url, "HAI_TOKEN": platform.token("ann")}
    env["PATH"] = f"{BIN}:{env['PATH']}"
    notebook = nbformat.read(folder / "start-here.ipynb", as_version=4)
    NotebookClient(notebook, timeout=400, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute(
        env=env
    )
    said = {
        cell.id: "".join(
            output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    assert "ann" in said["whoami"]
    assert "first-count" in said["submit"]
    assert "count " in said["wait"]
    assert "suspended" in said["left"]
    assert "its state" in said["left"], "it has kept what it had counted"
    shown = platform.json("status", "first-count")
    assert shown["state"] == "succeeded"
    assert len(shown["runs"]) == 2
    counted = [int(line.split()[1]) for line in said["follow"].splitlines() if line.startswith("count ")]
    assert counted == list(range(1, 601)), "nothing is counted twice and nothing is left out"
    assert "suspend" in said["story"]
