"""environment.yml: packages of conda and of pip, variables, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.sources.source import Source
from unit.haienv.sources.files_kit import read, write

ENVIRONMENT = """\
name: vision
channels:
  - conda-forge
dependencies:
  - python=3.11
  - conda-forge::numpy >=2
  - pip
  - pip:
    - timm==1.0.20
    - -r more.txt
variables:
  OMP_NUM_THREADS: 4
"""


def test_an_environment_yml_has_packages_of_conda_and_of_pip(tmp_path: Path) -> None:
    write(tmp_path, "more.txt", "six\n")
    assert read(write(tmp_path, "environment.yml", ENVIRONMENT)) == Source(
        requirements=("timm==1.0.20", "six"),
        conda=("python=3.11", "conda-forge::numpy >=2", "pip"),
        channels=("conda-forge",),
        variables={"OMP_NUM_THREADS": "4"},
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dependencies:\n  - pip:\n    - -e .\n", "line 3: requirement: .*editable"),
        ("dependencies:\n  - npm:\n    - x\n", "line 2: dependencies: 'npm' is not known"),
        ("dependencies: numpy\n", "line 1: dependencies: is not a list"),
        ("dependencies:\n  - [a]\n", "line 2: dependencies: this item is not a text"),
        ("dependencies:\n  - a\n   - b: [\n", "line 3: is no YAML"),
        ("name: x\nchanels: [a]\n", "line 2: chanels: is not known"),
        ("name: x\n", "dependencies: is empty"),
        ("- a\n", "line 1: is no environment.yml"),
        ("", "line 1: is no environment.yml"),
        ("dependencies:\n  - {}\n", "line 2: dependencies: an empty table"),
        ("dependencies:\n  - {pip: [a], npm: [b]}\n", "line 2: dependencies: 'pip' is not known; only"),
        ("dependencies:\n  - pip: a\n", "line 2: pip: is not a list"),
        ("dependencies:\n  - pip: [-r]\n", "line 2: -r: no file is named"),
        ("channels: [[a]]\n", "line 1: channels: this item is not a text"),
        ("variables: [a]\n", "line 1: variables: is not a table"),
        ("variables: {A: [1]}\n", "line 1: variables: this item is not a text"),
        ("dependencies: *nowhere\n", "line 1: is no YAML"),
        ("dependencies: " + "[" * 1000 + "\n", "is no YAML: it is nested too deeply"),
        ("variables:\n  1A: x\n", "line 2: variables: '1A' is not the name"),
        ("dependencies:\n  - '!x'\n", "line 2: conda: '!x' is not a package"),
    ],
)
def test_what_is_wrong_in_an_environment_yml_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Wrong, match=f"(?s)environment.yml.*{says}"):
        read(write(tmp_path, "environment.yml", text))


def test_a_tag_of_yaml_makes_no_object(tmp_path: Path) -> None:
    text = f"dependencies: !!python/object/apply:os.mkdir [{tmp_path}/made]\n"
    with pytest.raises(Wrong, match=r"line 1: conda: .* is not a package"):
        read(write(tmp_path, "environment.yml", text))
    assert not (tmp_path / "made").exists()
