"""Our reading of ignore files, held against git itself."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from unit.client.snapshots.walking_kit import paths, walked

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is what it is held against")

#: Ignore files by folder, and the files of the tree.
TREE = (
    "a.py", "a.pyc", "data/x.bin", "data/keep.txt", "data/deep/y.bin", "src/a.pyc", "src/data/z.bin", "src/build/o.o",
    "build/o.o", "build/keep.py", "docs/a.md", "docs/b/a.md", "foo/bar/baz.txt", "foo/bar.txt", "x/foo/bar/q", "#odd",
    "!odd", "a b", "trail ", "aXb", "a[b", "a-b", "a]b", "log1", "log9", "logx", "UPPER", "upper", "é.txt",
)  # fmt: skip
RULES = [
    {"": "*.pyc\n"},
    {"": "data/\n"},
    {"": "data\n!data/keep.txt\n"},
    {"": "data/*\n!data/keep.txt\n"},
    {"": "/data\n"},
    {"": "/*.py\n"},
    {"": "build/\n!/build/\n"},
    {"": "**/build\n"},
    {"": "foo/**\n"},
    {"": "foo/**/*.txt\n"},
    {"": "foo/bar\n"},
    {"": "**/foo/bar\n"},
    {"": "a/**/b\n**/*.md\n!docs/a.md\n"},
    {"": "# a comment\n\n   \n\\#odd\n\\!odd\n"},
    {"": "trail\\ \na b \n"},
    {"": "a?b\n"},
    {"": "a[a-zA-Z]b\nlog[0-5]\n"},
    {"": "a[!a-z]b\nlog[^0-9]\n"},
    {"": "a[]-]b\na[[]b\n"},
    {"": "log[[:digit:]]\n[[:upper:]]*\n"},
    {"": "log[\n"},
    {"": "*\n!*/\n!*.py\n"},
    {"": "*\n!a.py\n"},
    {"": "*.pyc\n", "src": "!*.pyc\n"},
    {"": "*.bin\n", "data": "!x.bin\n", "data/deep": "!*\n"},
    {"src": "build\n/data\n"},
    {"": "src/data/z.bin\n!z.bin\n"},
    {"": "/\n//\n\\\n"},
    {"": "b/\nbar.txt/\n"},
    {"": "UPPER\n"},
    {"": "*é*\n"},
    {"": "foo/*/baz.txt\n"},
    {"": "**\n!docs/\n!docs/**\n"},
    {"": "docs/**/a.md\n"},
    {"": "*.md\r\n"},
]


def tree(folder: Path, rules: dict[str, str]) -> Path:
    for name in TREE:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for place, text in rules.items():
        (folder / place / ".gitignore").write_bytes(text.encode())
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def gits(folder: Path) -> set[str]:
    words = ["git", "-c", "core.excludesFile=/dev/null", "ls-files", "-co", "-z", "--exclude-per-directory=.gitignore"]
    out = subprocess.run(words, cwd=folder, check=True, capture_output=True).stdout
    return {name.decode() for name in out.split(b"\0") if name}


def ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What a walk finds where there is no git to ask."""
    with monkeypatch.context() as without:
        without.setenv("PATH", "")
        return paths(walked(folder))


@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_the_same_files_as_git(rules: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree(tmp_path / "code", rules)
    assert ours(folder, monkeypatch) == gits(folder)


def test_the_same_files_as_git_for_rules_of_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(21)
    pieces = ("a", "b", "*", "?", "**", "/", "[ab]", "[!a]", "foo", "bar", "data", "src", ".py", ".bin", "!", "\\")
    folder = tree(tmp_path / "code", {})
    for number in range(60):
        lines = ["".join(chosen.choices(pieces, k=chosen.randint(1, 5))) for _ in range(4)]
        for place in ("", "src", "data"):
            (folder / place / ".gitignore").write_text("\n".join(chosen.sample(lines, 2)) + "\n")
        assert ours(folder, monkeypatch) == gits(folder), (number, lines)
