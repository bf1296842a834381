"""Whether a change must say something: it touches what people notice, and no fragment says what."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

#: What people notice: the command and the Python client, the panel, the chart and its images, and the rules.
NOTICED = (
    "client/",
    "lab_extension/src/",
    "lab_extension/schema/",
    "helm/",
    "scheduler_service/hai_scheduler/core/",
)
FRAGMENTS = "changelog.d/"
#: A line of a commit's message: nobody notices this change.
NOTHING = "Changelog: none"


def lacking(changed: Iterable[str], messages: Iterable[str]) -> str:
    """Return the first file that asks for a fragment; empty: nothing is asked.

    Args:
        changed: Paths of files that differ from the base.
        messages: Messages of the commits since the base.
    """
    names = sorted(changed)
    if any(name.startswith(FRAGMENTS) and not name.endswith("/README.md") for name in names):
        return ""
    if any(NOTHING in message.splitlines() for message in messages):
        return ""
    return next((name for name in names if name.startswith(NOTICED) and ".spec." not in name), "")


def base(root: Path, last_release: str) -> str:
    """Return the commit that a change is compared with; empty: there is none here.

    A branch is compared with where it left `origin/main`. On main itself, and in a clone that has no `origin/main`, all
    since the last release is the change.
    """
    head, left = _git(root, "rev-parse", "HEAD"), _git(root, "merge-base", "origin/main", "HEAD")
    if left and left != head:
        return left
    return last_release if _git(root, "cat-file", "-t", last_release) == "commit" else ""


def changed(root: Path, since: str) -> list[str]:
    """Return the paths that differ from a commit, what is not committed included."""
    new = _git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    return [*_git(root, "diff", "--name-only", since).splitlines(), *new]


def messages(root: Path, since: str) -> Sequence[str]:
    """Return the messages of the commits since a commit."""
    return _git(root, "log", "--format=%B%x00", f"{since}..HEAD").split("\0")


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""
