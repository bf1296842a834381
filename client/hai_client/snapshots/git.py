"""What git knows of a folder: its files, the commit, and whether something has changed since.

Git runs beside the walk through the folder. Without git, or outside of a repository, nothing is known.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple, Sequence

#: How long git may take, in seconds; a repository that is slower than that is read without it.
LONGEST_S = 20.0


class GitFacts(NamedTuple):
    """What git knows of a folder."""

    #: Paths below the folder: files that are tracked, or neither tracked nor ignored. None: git could not say.
    files: set[str] | None
    repositories: set[str]  #: Folders among them that are repositories of their own, which git does not look into.
    commit: str | None  #: The commit that is checked out; None: there is none.
    dirty: bool  #: Whether a file of the folder is not as in the commit.


class GitQuestions:
    """Questions to git about a folder, under way; a context manager, which ends those that nobody waited for.

    Args:
        folder: The folder.
        rules: Whether git's own rules are asked for too, and not only the commit.
    """

    def __init__(self, folder: str, *, rules: bool) -> None:
        program = shutil.which("git")
        inside = program is not None and _in_repository(folder)
        self._list = self._start(program, folder, _LIST) if program and inside and rules else None
        self._commit = self._start(program, folder, ("rev-parse", "--verify", "HEAD")) if program and inside else None
        self._status = self._start(program, folder, _STATUS) if program and inside else None

    def _start(self, program: str, folder: str, words: Sequence[str]) -> subprocess.Popen[bytes] | None:
        # What the repository's configuration would have executed here stays off.
        command = [program, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *words]
        env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        try:
            return subprocess.Popen(
                command,
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return None

    def __enter__(self) -> GitQuestions:  # noqa: PYI034 -- typing.Self is newer than Python 3.8
        return self

    def __exit__(self, *_error: object) -> None:
        for process in (self._list, self._commit, self._status):
            if process is not None and process.poll() is None:
                process.kill()
            if process is not None and process.stdout is not None and not process.stdout.closed:
                process.communicate()

    def files(self) -> GitFacts | None:
        """Return the files alone, as soon as git has listed them; None: git could not say."""
        listed = _answer(self._list)
        if listed is None:
            return None
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        repositories = {name.rstrip("/") for name in names if name.endswith("/")}
        return GitFacts({name for name in names if not name.endswith("/")}, repositories, None, False)

    def commit(self) -> GitFacts:
        """Return the commit and whether something has changed since."""
        commit, status = _answer(self._commit), _answer(self._status)
        if commit is None:
            return GitFacts(None, set(), None, False)
        return GitFacts(None, set(), commit.decode("ascii", "replace").strip()[:64], bool(status))


_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
_STATUS = ("status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--", ".")


def _answer(process: subprocess.Popen[bytes] | None) -> bytes | None:
    """Return what git has written; None where it failed or took too long."""
    if process is None:
        return None
    try:
        out, _ = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return out if process.returncode == 0 else None


def _in_repository(folder: str) -> bool:
    """Return whether a folder lies in a repository, without a process for the many that do not."""
    here = os.path.realpath(folder)
    steps: list[str] = []
    while here not in steps:
        if os.path.lexists(f"{here}/.git"):
            return True
        steps.append(here)
        here = os.path.dirname(here)
    return False
