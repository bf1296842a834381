"""What the tests of files share: reading one without uv, and writing one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haienv.sources.reading import read_all
from haienv.sources.source import Source

H1, H2 = f"--hash=sha256:{'1' * 64}", f"--hash=sha256:{'2' * 64}"


def no_uv(words: Sequence[str], *, doing: str) -> str:
    raise AssertionError("uv is not needed for this")


def read(path: Path, *extras: str) -> Source:
    return read_all([path], extras, no_uv)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path
