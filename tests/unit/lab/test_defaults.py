"""A file of the file browser becomes the first values of the submit form."""

from __future__ import annotations

import pytest

from hai_lab.defaults import submit_defaults
from hai_lab.problem import Problem
from unit.lab.conftest import said


@pytest.fixture
def root(tmp_path):
    home = tmp_path / "home"
    (home / "my project").mkdir(parents=True)
    for name in ("train.py", "run.sh", "explore.ipynb", "data.csv", "-x.py", "my project/Fine Tune.py"):
        (home / name).write_text("")
    (home / "folder.py").mkdir()
    (tmp_path / "secret.py").write_text("")
    return home


@pytest.mark.parametrize(
    ("path", "name", "folder", "command"),
    [
        ("train.py", "train", ".", ["python", "-u", "train.py"]),
        ("/train.py", "train", ".", ["python", "-u", "train.py"]),
        ("run.sh", "run", ".", ["bash", "run.sh"]),
        ("explore.ipynb", "explore", ".", ["python", "-m", "hai_client.notebook", "explore.ipynb"]),
        ("my project/Fine Tune.py", "Fine-Tune", "my project", ["python", "-u", "Fine Tune.py"]),
        ("-x.py", "x", ".", ["python", "-u", "./-x.py"]),
    ],
)
def test_a_file_is_run_in_its_folder_by_its_kind(root, path, name, folder, command):
    assert submit_defaults(root, path) == {"name": name, "cwd": str(root / folder), "command": command}


def test_without_a_file_the_form_starts_empty_in_the_home(root):
    assert submit_defaults(root, "") == {"name": "", "cwd": str(root), "command": []}


@pytest.mark.parametrize(
    "path",
    ["../secret.py", "my project/../../secret.py", "/../secret.py", "./train.py", "a//b.py", "..\\x.py", "x\x00.py"],
)
def test_a_path_cannot_leave_the_home(root, path):
    with pytest.raises(Problem) as caught:
        submit_defaults(root, path)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("data.csv", 400, "only .py, .sh and .ipynb"),
        ("gone.py", 404, "save it first"),
        ("folder.py", 404, "There is no file"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_remedy(root, path, status, words):
    with pytest.raises(Problem) as caught:
        submit_defaults(root, path)
    assert caught.value.status == status
    assert words in caught.value.detail


def test_a_linked_folder_counts_as_below_the_home(root, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "job.py").write_text("")
    (root / "link").symlink_to(tmp_path / "shared")
    assert submit_defaults(root, "link/job.py")["cwd"] == str(root / "link")


async def test_the_route_answers_with_values_or_a_problem(ask, jp_root_dir):
    (jp_root_dir / "train.py").write_text("")
    found = await ask("GET", "hai-lab/submit-defaults?path=train.py")
    assert said(found) == {"name": "train", "cwd": str(jp_root_dir), "command": ["python", "-u", "train.py"]}
    assert said(await ask("GET", "hai-lab/submit-defaults?path=RTC:train.py")) == said(found)
    refused = await ask("GET", "hai-lab/submit-defaults?path=..%2Fsecret.py")
    assert refused.code == 400
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert said(refused)["code"] == "invalid"
