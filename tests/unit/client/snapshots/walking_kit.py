"""What the tests of a walk share: folders of code, repositories of them, and a walk through one."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from hai_client.snapshots.git import GitQuestions
from hai_client.snapshots.walking import Walk, WalkLimits, walk

LIMITS = WalkLimits(10_000, 10**9)


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, as somebody; returns what it has written."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", *who, "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def a_folder(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a folder with these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def a_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a folder with these files, which is a repository without a commit."""
    a_folder(folder, files)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def walked(folder: Path, *, own_rules: bool = False, limits: WalkLimits = LIMITS) -> Walk:
    """Walk through a folder, with git's rules unless it has its own."""
    with GitQuestions(str(folder), rules=not own_rules) as asked:
        return walk(str(folder), asked, limits, own_rules=own_rules)


def paths(found: Walk) -> set[str]:
    """The paths of what a walk takes."""
    return {one.path for one in found.found}
