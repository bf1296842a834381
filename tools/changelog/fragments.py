"""Fragments: `changelog.d/NAME.KIND.md`, one sentence for one kind of reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Kinds, in the order in which a release is read: heading in English, and in Chinese where both are needed.
KINDS = {
    "must": ("Before you upgrade", "升级之前"),
    "user": ("For users", ""),
    "admin": ("For admins", ""),
    "fixed": ("Faults that are gone", ""),
}
#: The Chinese text of `NAME.must.md` is `NAME.must.zh.md`.
CHINESE = ".zh"
_NAME = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)\.(?P<kind>[a-z]+)(?P<chinese>\.zh)?\.md")
_HAN = re.compile(r"[\u4e00-\u9fff]")
LONGEST = 300


class BadFragment(Exception):
    """A fragment cannot be used; the text names the file and says what to do."""


@dataclass(frozen=True)
class Fragment:
    """What one change says to one kind of reader."""

    name: str
    kind: str
    text: str
    chinese: str = ""


def read(folder: Path) -> list[Fragment]:
    """Return the fragments, by name. Raises BadFragment."""
    texts: dict[tuple[str, str], dict[str, str]] = {}
    for file in sorted(path for path in folder.iterdir() if path.is_file() and path.name != "README.md"):
        found = _NAME.fullmatch(file.name)
        if found is None or found["kind"] not in KINDS:
            raise BadFragment(f"{file.name}: name it NAME.KIND.md; NAME has a-z, 0-9 and -, KIND is {' '.join(KINDS)}")
        texts.setdefault((found["name"], found["kind"]), {})[found["chinese"] or ""] = _sentence(file)
    return [_fragment(name, kind, by_language) for (name, kind), by_language in texts.items()]


def _sentence(file: Path) -> str:
    text = file.read_text(encoding="utf-8", errors="replace").strip()
    if not text or "\n" in text or "\ufffd" in text or len(text) > LONGEST:
        raise BadFragment(
            f"{file.name}: write one line of UTF-8, 1 to {LONGEST} characters, that says what a reader notices"
        )
    if text[0] in "-*#":
        raise BadFragment(f"{file.name}: begins with {text[0]}: the release makes the list, write the sentence alone")
    return text


def _fragment(name: str, kind: str, texts: dict[str, str]) -> Fragment:
    both = bool(KINDS[kind][1])
    english, chinese = texts.get("", ""), texts.get(CHINESE, "")
    if not english:
        raise BadFragment(f"{name}.{kind}{CHINESE}.md: its English text, {name}.{kind}.md, is missing")
    if both and not _HAN.search(chinese):
        raise BadFragment(f"{name}.{kind}.md: write it in Chinese too, in {name}.{kind}{CHINESE}.md")
    if chinese and not both:
        raise BadFragment(f"{name}.{kind}{CHINESE}.md: only {must()} needs two languages: remove it")
    return Fragment(name, kind, english, chinese)


def must() -> str:
    """The kinds that are written in two languages, as a text."""
    return " and ".join(kind for kind, (_, chinese) in KINDS.items() if chinese)


def release(fragments: Iterable[Fragment], version: str, day: str) -> str:
    """Return the text of a release for CHANGELOG.md: what must be done first, then a list for each kind of reader."""
    there, parts = list(fragments), [f"## {version} ({day})"]
    for kind, headings in KINDS.items():
        of_kind = [one for one in there if one.kind == kind]
        languages = zip(headings, ("text", "chinese"), strict=True) if of_kind else ()
        for heading, language in languages:
            if heading:
                parts.append(f"### {heading}\n\n" + "\n".join(f"- {getattr(one, language)}" for one in of_kind))
    return "\n\n".join(parts) + "\n"
