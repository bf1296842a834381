"""The folder of examples is written once, whole, and over nothing of the user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hai_lab.examples import FOLDER, MARKER, NOTEBOOK, Examples, shipped
from hai_lab.problem import Problem
from unit.lab.conftest import Ask, said


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = tmp_path / "shipped"
    (made / "__pycache__").mkdir(parents=True)
    (made / NOTEBOOK).write_text("{}")
    (made / "train.py").write_text("print('train')")
    (made / "checkpoint.npz").write_bytes(b"0")
    return made


@pytest.fixture
def examples(home: Path, source: Path) -> Examples:
    return Examples(home, home, source)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_this_installation_has_them() -> None:
    folder = shipped()
    assert folder is not None
    assert {"start-here.ipynb", "train_digits.py", "train_ddp.py", "cooperative.py"} <= set(names(folder))


def test_a_new_user_gets_the_folder_and_nothing_else(examples: Examples, home: Path) -> None:
    assert examples.give()
    assert names(home / FOLDER) == [NOTEBOOK, "train.py"]
    assert names(home) == [".local", FOLDER]


def test_who_deletes_it_keeps_it_deleted(examples: Examples, home: Path) -> None:
    examples.give()
    for path in (home / FOLDER).iterdir():
        path.unlink()
    (home / FOLDER).rmdir()
    assert not examples.give()
    assert not (home / FOLDER).exists()


def test_a_folder_of_that_name_is_left_as_it_is(examples: Examples, home: Path) -> None:
    (home / FOLDER).mkdir()
    (home / FOLDER / "train.py").write_text("mine")
    assert not examples.give()
    assert names(home / FOLDER) == ["train.py"]
    assert (home / MARKER).exists()


def test_a_link_that_leads_nowhere_is_left_as_it_is(examples: Examples, home: Path) -> None:
    (home / FOLDER).symlink_to(home / "gone")
    assert not examples.give()
    assert (home / FOLDER).is_symlink()


def test_a_home_that_cannot_be_written_to_keeps_nobody_from_working(
    home: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = home / "file"
    blocked.write_text("")
    assert not Examples(blocked, blocked, source).give()
    assert "could not be written" in caplog.text


def test_an_installation_without_them_gives_none(home: Path) -> None:
    without = Examples(home, home, None)
    assert not without.give()
    assert names(home) == []
    with pytest.raises(Problem, match="without the examples"):
        without.restore()


def test_asked_for_it_writes_what_is_missing_alone(examples: Examples, home: Path) -> None:
    (home / FOLDER).mkdir()
    (home / FOLDER / "train.py").write_text("mine")
    assert examples.restore() == f"{FOLDER}/{NOTEBOOK}"
    assert (home / FOLDER / NOTEBOOK).read_text() == "{}"
    assert (home / FOLDER / "train.py").read_text() == "mine"


def test_asked_for_where_a_file_is_in_the_way_it_says_so(examples: Examples, home: Path) -> None:
    (home / FOLDER).write_text("mine")
    with pytest.raises(Problem, match="rename what is called so"):
        examples.restore()
    assert (home / FOLDER).read_text() == "mine"


def test_the_path_is_below_the_folder_that_jupyterlab_shows(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    inside = Examples.of(tmp_path)
    assert inside.home == home
    assert inside.restore() == f"home/{FOLDER}/{NOTEBOOK}"
    other = tmp_path / "elsewhere"
    other.mkdir()
    assert Examples.of(other).restore() == f"{FOLDER}/{NOTEBOOK}"
    assert (other / FOLDER / NOTEBOOK).is_file()


async def test_a_server_under_hai_gives_them_at_its_first_start(ask: Ask, jp_root_dir: Path) -> None:
    assert (jp_root_dir / FOLDER / NOTEBOOK).is_file()
    answer = await ask("POST", "hai-lab/examples")
    assert said(answer) == {"path": f"{FOLDER}/{NOTEBOOK}"}


async def test_nobody_else_may_ask(stranger: Ask) -> None:
    answer = await stranger("POST", "hai-lab/examples")
    assert answer.code == 403


def test_the_notebook_has_no_outputs() -> None:
    folder = shipped()
    assert folder is not None
    cells = json.loads((folder / NOTEBOOK).read_text())["cells"]
    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
