"""Reads a file that says what an environment is made from, and tells its kind by name and content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import tomllib

from haienv.shared.errors import Wrong
from haienv.sources import conda_list, environment_yml, pylock, pyproject, requirements, uvlock
from haienv.sources.source import Source, joined, text_of
from haienv.sources.uvlock import RunUv

#: Files of other tools, by name, and how one makes of each a file that is read.
_FOREIGN = {
    "poetry.lock": "`poetry export -o requirements.txt` (with its plugin `export`)",
    "pdm.lock": "`pdm export -f pylock -o pylock.toml`",
    "pipfile": "`pipenv requirements > requirements.txt`",
    "pipfile.lock": "`pipenv requirements > requirements.txt`",
    "setup.py": "`uv pip compile setup.py -o requirements.txt`: only executing it tells what it needs",
    "setup.cfg": "`uv pip compile setup.cfg -o requirements.txt`",
    "pixi.toml": "`pixi project export conda-environment environment.yml`",
    "pixi.lock": "`pixi project export conda-environment environment.yml`",
    "conda-lock.yml": "`conda-lock render -k env`, which writes an environment.yml",
}


def read_all(paths: Sequence[Path], extras: Sequence[str], run: RunUv) -> Source:
    """Read several files together.

    Args:
        paths: The files.
        extras: Extras of the projects that files of projects describe; they need one such file.
        run: Runs uv, which reads uv.lock.

    Raises:
        Wrong: A file is wrong; the message names file, line and remedy.
    """
    found = [read(path, extras, run) for path in paths]
    if extras and not any(kind_of(path, text_of(path)) in _WITH_EXTRAS for path in paths):
        raise Wrong(
            f"extra: {extras[0]!r} is of no file here; name the project's pyproject.toml, uv.lock or pylock.toml with"
            " -r, or write package[extra] as a requirement"
        )
    return joined(found)


_WITH_EXTRAS = ("pyproject", "uv.lock", "pylock")


def read(path: Path, extras: Sequence[str], run: RunUv) -> Source:
    """Read one file. Raises Wrong."""
    text = text_of(path)
    kind = kind_of(path, text)
    if kind == "environment.yml":
        return environment_yml.read(path)
    if kind == "conda list":
        return conda_list.read(path, text)
    if kind == "requirements":
        return requirements.read(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Wrong(f"{path}: is no TOML: {error}; mend this line") from None
    if kind == "pylock":
        return pylock.read(path, text, data, extras)
    if kind == "uv.lock":
        return uvlock.read(path, text, data, extras, run)
    return pyproject.read(path, text, data, extras)


def kind_of(path: Path, text: str) -> str:
    """Return the kind of a file: requirements, pyproject, uv.lock, pylock, environment.yml or conda list.

    The name tells it where tools fix that; otherwise the content does.

    Raises:
        Wrong: It is a file of another tool; the message says how to make one that is read.
    """
    name = path.name.lower()
    if name in _FOREIGN:
        raise Wrong(f"{path}: this kind of file is not read; make one that is: {_FOREIGN[name]}")
    if re.search(r"(?m)^@EXPLICIT\s*$", text):
        raise Wrong(
            f"{path}: an explicit list of conda (@EXPLICIT) is for one platform and one channel; `conda env export`, or"
            " `micromamba env export`, writes an environment.yml"
        )
    if name in _BY_NAME:
        return _BY_NAME[name]
    if re.fullmatch(r"pylock(\.[^.]+)?\.toml", name):
        return "pylock"
    if name.endswith((".yml", ".yaml")):
        return "environment.yml"
    found = next((kind for pattern, kind in _BY_CONTENT if re.search(pattern, text)), None)
    if found is None and name.endswith(".toml"):
        raise Wrong(f"{path}: has neither [project] nor lock-version; give a pyproject.toml, uv.lock or pylock.toml")
    return found or ("conda list" if conda_list.is_one(text) else "requirements")


_BY_NAME = {"pyproject.toml": "pyproject", "uv.lock": "uv.lock"}
_BY_CONTENT = (
    (r"(?m)^lock-version\s*=", "pylock"),
    (r"(?m)^\[\[package\]\]\s*$", "uv.lock"),
    (r"(?m)^\[project\]\s*$", "pyproject"),
    # `conda env export --json` writes the same as JSON, which is YAML too.
    (r"(?m)^(dependencies:\s*$|\s*\"dependencies\"\s*:)", "environment.yml"),
)
