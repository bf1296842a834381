"""pyproject.toml: dependencies, extras, versions of Python, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.sources.source import Source
from unit.haienv.sources.files_kit import read, write

PROJECT = """\
[project]
name = "demo"
requires-python = ">=3.9,<3.13"
dependencies = ["numpy>=2", "six"]
[project.optional-dependencies]
gpu = ["torch"]
plots = ["matplotlib"]
all = ["demo[gpu,plots]", "Demo[all]"]
bad = ["=1"]
"""


def test_a_project_has_dependencies_extras_and_versions_of_python(tmp_path: Path) -> None:
    path = write(tmp_path, "pyproject.toml", PROJECT)
    assert read(path) == Source(requirements=("numpy>=2", "six"), python=">=3.9,<3.13")
    assert read(path, "gpu").requirements == ("numpy>=2", "six", "torch")
    assert read(path, "all").requirements == ("numpy>=2", "six", "torch", "matplotlib")


@pytest.mark.parametrize(
    ("text", "extras", "says"),
    [
        (PROJECT, ["none"], "has no extra 'none'; it has all, bad, gpu, plots"),
        (PROJECT, ["bad"], r"pyproject.toml, line 9: requirement: '=1'"),
        ('[project]\nname = "x"\ndynamic = ["dependencies"]\n', [], "line 3: project.dynamic: .*requirements.txt"),
        ("[tool.poetry]\n", [], "no table \\[project\\]"),
        ("[project\n", [], "is no TOML: .*line 1"),
        ('[project]\ndependencies = "numpy"\n', [], "line 2: dependencies: is not a list"),
        (
            '[project]\ndependencies = ["own"]\n[tool.uv.sources]\nown = { path = "../own" }\n', [],
            "line 4: tool.uv.sources: own comes from a path",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_project_is_named(tmp_path: Path, text: str, extras: list[str], says: str) -> None:
    with pytest.raises(Wrong, match=says):
        read(write(tmp_path, "pyproject.toml", text), *extras)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[project]\ndynamic = 1\n", "project.dynamic: is not a list"),
        ("[project]\ndependencies = [1]\n", "dependencies: is not a list of texts"),
        ("[project]\nrequires-python = 3\n", "project.requires-python: write '>=3.9'"),
        ("tool = 1\n[project]\n", "tool: is not a table"),
        ("[project]\n[tool]\nuv = 1\n", "tool.uv: is not a table"),
        ("[project]\n[tool.uv]\nsources = 1\n", "tool.uv.sources: is not a table"),
        ("project = 1\n", r"has no table \[project\]"),
    ],
)
def test_a_value_of_another_type_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Wrong, match=f"pyproject.toml.*: {says}" if "no table" not in says else says):
        read(write(tmp_path, "pyproject.toml", text))


@pytest.mark.parametrize("source", ["1", "'path'", "[1]", "{ index = 'other' }", "[{ index = 'other' }]"])
def test_a_source_that_is_no_folder_or_repository_is_left_to_uv(tmp_path: Path, source: str) -> None:
    text = f"[project]\ndependencies = ['own']\n[tool.uv.sources]\nown = {source}\n"
    assert read(write(tmp_path, "pyproject.toml", text)).requirements == ("own",)


@pytest.mark.parametrize("kind", ["path", "git", "workspace", "editable"])
def test_each_kind_of_folder_is_refused_also_among_several_sources(tmp_path: Path, kind: str) -> None:
    sources = f"[{{ index = 'other', marker = 'x' }}, {{ {kind} = 'x' }}]"
    project = "[project]\ndependencies = ['Own_Package']\n[tool.uv.sources]\nother = { git = 'x' }\n"
    text = f"{project}own-package = {sources}\n"
    with pytest.raises(Wrong, match=f"line 5: tool.uv.sources: own-package comes from a {kind}"):
        read(write(tmp_path, "pyproject.toml", text))
