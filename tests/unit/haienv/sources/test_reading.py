"""Files that environments are made from: their kinds, and extras that only some of them have."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.sources.reading import kind_of
from unit.haienv.sources.files_kit import H1, read, write


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("requirements.txt", "numpy\n", "requirements"),
        ("base.in", "numpy\n", "requirements"),
        ("requirements.lock", f"numpy==1 \\\n    {H1}\n", "requirements"),
        ("pyproject.toml", "[project]\n", "pyproject"),
        ("other.toml", "[project]\nname = 'x'\n", "pyproject"),
        ("pylock.toml", "", "pylock"),
        ("pylock.gpu.toml", "", "pylock"),
        ("lock.toml", 'lock-version = "1.0"\n', "pylock"),
        ("uv.lock", "version = 1\n", "uv.lock"),
        ("old-uv.lock", "version = 1\n[[package]]\nname = 'x'\n", "uv.lock"),
        ("environment.yml", "name: x\n", "environment.yml"),
        ("gpu.yaml", "dependencies:\n", "environment.yml"),
        ("env", "name: x\ndependencies:\n- numpy\n", "environment.yml"),
    ],
)
def test_name_and_content_tell_the_kind(name: str, text: str, kind: str) -> None:
    assert kind_of(Path(name), text) == kind


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("poetry.lock", "", "poetry export -o requirements.txt"),
        ("Pipfile", "", "pipenv requirements"),
        ("setup.py", "", "only executing it tells what it needs"),
        ("spec.txt", "@EXPLICIT\nhttps://x/y.conda\n", "conda env export"),
        ("x.toml", "a = 1\n", "neither \\[project\\] nor lock-version"),
    ],
)
def test_files_of_other_tools_are_named_with_the_way_to_one_that_is_read(name: str, text: str, says: str) -> None:
    with pytest.raises(Wrong, match=f"^{name}: .*{says}"):
        kind_of(Path(name), text)


def test_an_extra_needs_a_file_that_has_extras(tmp_path: Path) -> None:
    path = write(tmp_path, "requirements.txt", "six\n")
    with pytest.raises(Wrong, match=r"^extra: 'gpu' is of no file here"):
        read(path, "gpu")
