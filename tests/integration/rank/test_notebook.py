"""Notebooks under the profile auto: their cells count, not the program that runs them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kit.waiting import wait_for

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

LONG_S = 300


def start(bench, folder: Path, *cells: str, **changes) -> Path:
    document = nbformat.v4.new_notebook()
    document.cells = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(cells)]
    path = folder / "train.ipynb"
    nbformat.write(document, path)
    env = {"IPYTHONDIR": str(folder / "ipython"), "HOME": str(folder), **changes.pop("env", {})}
    bench.start(sys.executable, "-m", "hai_client.notebook", str(path), profile="auto", env=env, **changes)
    return path.with_name("train.hai-41.ipynb")


def text(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "".join(output.get("text", "") for cell in cells for output in cell.get("outputs", ()))


def test_a_notebook_that_saves_now_and_then_is_left_until_it_has_and_keeps_its_outputs(
    bench, service, tmp_path
) -> None:
    output = start(
        bench,
        tmp_path,
        "import os, time\nprint('up')",
        "while not os.path.exists('save'): time.sleep(0.01)\n"
        "open(os.environ['HAI_CHECKPOINT_DIR'] + '/model.pt', 'w').write('1')\nprint('saved')\ntime.sleep(600)",
        patience_s=LONG_S,
        env={"HAI_CHECKPOINT_DIR": str(tmp_path / "checkpoints")},
    )
    (tmp_path / "checkpoints").mkdir()
    bench.printed("up")
    service.notify()
    wait_for("the supervisor to be told", lambda: bench.status()["notified_at"])
    (tmp_path / "save").touch()
    status = bench.wait()
    assert status["exit_code"] == 143
    assert (status["checkpoint"]["source"], status["caught"]) == ("seen", False)
    assert text(output) == "up\nsaved\n"


def test_a_handler_in_a_cell_hears_the_signal(bench, service, tmp_path) -> None:
    output = start(
        bench,
        tmp_path,
        "import os, signal, time\n"
        "def save(*_):\n    open('saved', 'w').write('1')\n    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, save)\nprint('up', flush=True)",
        "print('trains', flush=True)\ntime.sleep(600)",
        patience_s=LONG_S,
    )
    bench.printed("trains")
    service.notify()
    status = bench.wait()
    assert (tmp_path / "saved").exists()
    assert (status["exit_code"], status["caught"]) == (143, True)
    assert text(output) == "up\ntrains\n"
