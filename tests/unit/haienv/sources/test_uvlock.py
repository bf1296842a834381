"""uv.lock: uv reads it in a folder of its own; what is wrong is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from haienv.shared.errors import BuildFailed, Wrong
from haienv.sources.reading import read_all
from haienv.sources.source import Source
from unit.haienv.sources.files_kit import H1, write

UV_LOCK = """\
version = 1
requires-python = ">=3.9"
[[package]]
name = "demo"
source = { virtual = "." }
[package.optional-dependencies]
gpu = [{ name = "torch" }]
[[package]]
name = "torch"
version = "2.9.0"
source = { registry = "https://wheels.example/simple" }
"""


def test_a_uv_lock_is_read_by_uv_in_a_folder_of_its_own(tmp_path: Path) -> None:
    called = []

    def uv(words: Sequence[str], *, doing: str) -> str:
        folder = Path(words[words.index("--project") + 1])
        called.append((folder != tmp_path, (folder / "uv.lock").read_text() == UV_LOCK, words[-2:]))
        return f"torch==2.9.0 ; sys_platform == 'linux' \\\n    {H1}\n"

    path = write(tmp_path, "uv.lock", UV_LOCK)
    assert read_all([path], ["gpu"], uv) == Source(
        requirements=(f"torch==2.9.0 ; sys_platform == 'linux' {H1}",),
        python=">=3.9",
        indexes=("https://wheels.example/simple",),
    )
    assert called == [(True, True, ["--extra", "gpu"])]


def test_what_is_wrong_with_a_uv_lock_is_named(tmp_path: Path) -> None:
    def uv(words: Sequence[str], *, doing: str) -> str:
        raise BuildFailed("uv could not read it: it is of version 9")

    path = write(tmp_path, "uv.lock", UV_LOCK)
    with pytest.raises(Wrong, match="it is of version 9; write it again with `uv lock`"):
        read_all([path], [], uv)
    with pytest.raises(Wrong, match="has no extra 'x'; it has gpu"):
        read_all([path], ["x"], uv)
    write(tmp_path, "uv.lock", UV_LOCK.replace('registry = "https://wheels.example/simple"', 'git = "https://g/x"'))
    with pytest.raises(Wrong, match="line 9: package: torch comes from a repository"):
        read_all([path], [], uv)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("package = 1\n", "package: is not a list"),
        ("[[package]]\nsource = 1\n", r"package\[0\]\.source: is not a table"),
        ("[[package]]\noptional-dependencies = []\n", r"package\[0\]\.optional-dependencies: is not a table"),
        ("requires-python = 1\n[[package]]\n", "requires-python: is not a text"),
    ],
)
def test_a_value_of_another_type_is_named(tmp_path: Path, text: str, says: str) -> None:
    def uv(words: Sequence[str], *, doing: str) -> str:
        raise AssertionError("uv is not asked")

    with pytest.raises(Wrong, match=f"uv.lock: {says}; write the file again"):
        read_all([write(tmp_path, "uv.lock", "version = 1\n" + text)], [], uv)
