"""The version is written once; a place that says another is named, and written."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from release import number

#: The endings of files that can say the version to a program, and the folders in which none does.
PROGRAMS = (".json", ".py", ".toml", ".yaml", ".tpl", ".ts", ".tsx")
OTHERS = ("docs/", "examples/", "releases/", "tests/", ".github/")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of all places."""
    for place in number.PLACES:
        target = tmp_path / place.file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(number.ROOT / place.file, target)
    return tmp_path


def put(tree: Path, version: str) -> None:
    file = tree / number.SOURCE
    file.write_text(re.sub(r'(?m)^version = ".*"', f'version = "{version}"', file.read_text()))


def test_all_places_of_this_tree_say_it() -> None:
    assert list(number.differences()) == []


@pytest.mark.parametrize(
    ("version", "semantic", "range_"),
    [
        ("0.2.0", "0.2.0", "0.2,<0.3"),
        ("0.2.7", "0.2.7", "0.2,<0.3"),
        ("1.10.3", "1.10.3", "1.10,<1.11"),
        ("0.3.0rc2", "0.3.0-rc.2", "0.3.0rc2,<0.4"),
    ],
)
def test_another_one_is_written_into_all(tree: Path, version: str, semantic: str, range_: str) -> None:
    put(tree, version)
    assert len({line.partition(":")[0] for line in number.differences(tree)}) == len(
        {one.file for one in number.PLACES}
    )
    assert number.write(tree) == sorted({one.file for one in number.PLACES})
    assert list(number.differences(tree)) == []
    assert number.write(tree) == []
    assert f'version: {semantic}\nappVersion: "{version}"' in (tree / "helm/hai/Chart.yaml").read_text()
    assert f'"hai-client>={range_}"' in (tree / "client/hfai/pyproject.toml").read_text()
    assert f'__version__ = "{version}"' in (tree / "client/hai_client/version.py").read_text()


def test_nothing_of_the_product_says_it_beside_these(tree: Path) -> None:
    here = number.number()
    listed = subprocess.run(["git", "ls-files"], cwd=number.ROOT, capture_output=True, text=True, check=True).stdout
    put(tree, "7.6.5")
    number.write(tree)
    said = re.compile(rf"""(?<![\w.]){re.escape(here)}(?=["'\s])""")
    found = []
    for name in listed.splitlines():
        if not name.endswith(PROGRAMS) or name.startswith(OTHERS) or ".spec." in name:
            continue
        text = (tree / name if (tree / name).exists() else number.ROOT / name).read_text()
        # A package of others may have the same number.
        if said.search(text) and name != "lab_extension/package-lock.json":
            found.append(name)
    assert found == []


@pytest.mark.parametrize("place", number.PLACES, ids=lambda one: f"{one.file} {one.pattern[:12]}")
def test_a_place_that_says_another_is_named_with_its_value_and_the_remedy(tree: Path, place: number.Place) -> None:
    file = tree / place.file
    file.write_text(re.sub(place.pattern, r"\g<1>9.9.9", file.read_text(), count=1))
    assert [line for line in number.differences(tree) if place.form in line or "9.9.9" in line] == [
        f"{place.file}: 9.9.9, and pyproject.toml says {number.forms(number.number())[place.form]}: run `make number`"
    ]


def test_a_place_that_is_gone_is_named(tree: Path) -> None:
    file = tree / "helm/hai/Chart.yaml"
    file.write_text(file.read_text().replace("appVersion", "appversion"))
    (line,) = number.differences(tree)
    assert line.startswith("helm/hai/Chart.yaml: nothing is like")
    with pytest.raises(number.Wrong, match=r"helm/hai/Chart\.yaml"):
        number.write(tree)


@pytest.mark.parametrize(
    "version", ["", "1", "0.1", "v0.1.0", "0.1.0.dev1", "0.1.0-rc1", "00.1.0", "0.1.0 ", "0.1.0rc0", "0.1.\u0663"]
)
def test_what_is_no_version_is_refused(tree: Path, version: str) -> None:
    put(tree, version)
    with pytest.raises(number.Wrong, match=r"pyproject\.toml: version is .*MAJOR\.MINOR\.PATCH"):
        list(number.differences(tree))
