"""Files of the repository, and parts of its pages."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")


@cache
def files() -> tuple[Path, ...]:
    """Every file of the repository: the files that git tracks, and untracked files that git does not ignore."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(sorted(ROOT / name for name in set(listed) if name and (ROOT / name).is_file()))


def pages() -> list[Path]:
    """Every page in Markdown."""
    return [file for file in files() if file.suffix == ".md"]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[str]:
    """Blocks of code without a language, which show commands."""
    return [body for language, body in _FENCE.findall(text) if language in ("", "sh", "bash")]


def prose(text: str) -> str:
    """The page without its blocks of code."""
    return _FENCE.sub("", text)


def spans(text: str) -> list[str]:
    """The texts between back ticks."""
    return _SPAN.findall(prose(text))


def anchors(text: str) -> set[str]:
    """The anchors that headings get when the Markdown is rendered."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(anchor if anchor not in found else f"{anchor}-1")
    return found
