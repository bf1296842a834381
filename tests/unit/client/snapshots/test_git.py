"""What git says of a folder, and that nothing is known where it cannot say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hai_client.snapshots import git as module
from hai_client.snapshots.git import GitFacts, GitQuestions
from unit.client.snapshots.walking_kit import a_folder, a_repository, git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is asked here")
NOTHING = GitFacts(None, set(), None, False)


def files_of(folder: Path, *, rules: bool = True) -> GitFacts | None:
    with GitQuestions(str(folder), rules=rules) as asked:
        return asked.files()


def commit_of(folder: Path) -> tuple[str | None, bool]:
    """The commit, and whether something has changed since."""
    with GitQuestions(str(folder), rules=False) as asked:
        found = asked.commit()
    assert found == GitFacts(None, set(), found.commit, found.dirty)
    return found.commit, found.dirty


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository with a commit, and its rules."""
    folder = a_repository(tmp_path / "code", {".gitignore": "*.bin\n", "a.py": "", "src/b.py": "", "src/x.bin": ""})
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x")
    return folder


def a_program(folder: Path, text: str) -> Path:
    """Make a program that is found as git in this folder."""
    a_folder(folder, {"git": f"#!/bin/sh\n{text}\n"})
    (folder / "git").chmod(0o755)
    return folder


def test_the_files_are_those_that_are_tracked_or_neither_tracked_nor_ignored(code: Path) -> None:
    a_folder(code, {"new.py": "", "odd\nname é.txt": "", "src/kept.bin": ""})
    git(code, "add", "-f", "src/kept.bin")
    names = {".gitignore", "a.py", "src/b.py", "new.py", "odd\nname é.txt", "src/kept.bin"}
    assert files_of(code) == GitFacts(names, set(), None, False)


def test_a_name_that_is_not_utf_8_is_given_as_python_names_files(code: Path) -> None:
    name = os.fsdecode(b"\xff.py")
    (code / name).write_text("")
    found = files_of(code)
    assert found is not None
    assert name in (found.files or ())


def test_of_a_part_of_a_repository_the_paths_begin_there(code: Path) -> None:
    found = files_of(code / "src")
    assert found is not None
    assert found.files == {"b.py"}


def test_a_repository_within_is_named_and_not_looked_into(code: Path) -> None:
    a_repository(code / "inner", {"c.py": ""})
    git(code / "inner", "add", ".")
    git(code / "inner", "commit", "-qm", "x")
    found = files_of(code)
    assert found is not None
    assert found.repositories == {"inner"}
    assert found.files == {".gitignore", "a.py", "src/b.py"}


def test_without_its_rules_git_is_not_asked_for_files(code: Path) -> None:
    assert files_of(code, rules=False) is None


@pytest.mark.parametrize(
    ("change", "dirty"),
    [
        ({}, False),
        ({"src/x.bin": "ignored"}, False),
        ({"a.py": "changed"}, True),
        ({"new.py": ""}, True),
    ],
    ids=["nothing", "what is ignored", "what is tracked", "something new"],
)
def test_the_commit_is_told_and_whether_something_has_changed(code: Path, change: dict[str, str], dirty: bool) -> None:
    head = git(code, "rev-parse", "HEAD")
    a_folder(code, change)
    assert commit_of(code) == (head, dirty)


def test_changes_count_where_they_are_in_the_folder(code: Path) -> None:
    head = git(code, "rev-parse", "HEAD")
    (code / "a.py").write_text("changed")
    assert commit_of(code / "src") == (head, False)
    (code / "src/b.py").unlink()
    assert commit_of(code / "src") == (head, True)


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    assert commit_of(a_repository(tmp_path / "code", {"a.py": ""})) == (None, False)


# -- where git cannot say ------------------------------------------------------------------------------------


def test_without_git_nothing_is_known(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert files_of(code) is None
    assert commit_of(code) == (None, False)


def test_outside_of_a_repository_no_process_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_folder(tmp_path / "code", {"a.py": ""})
    ran = tmp_path / "ran"
    a_program(tmp_path / "bin", f"touch {ran}")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    assert files_of(folder) is None
    assert commit_of(folder) == (None, False)
    assert not ran.exists()


@pytest.mark.parametrize("text", ["exit 3", "echo half; exit 128", "kill -9 $$"])
def test_a_git_that_fails_says_nothing(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("PATH", f"{a_program(tmp_path / 'bin', text)}:{os.environ['PATH']}")
    assert files_of(code) is None
    assert commit_of(code) == (None, False)


def test_a_git_that_cannot_be_started_says_nothing(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_folder(tmp_path / "bin", {"git": "neither a script nor a program"})
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    assert files_of(code) is None
    assert commit_of(code) == (None, False)


def test_a_git_that_is_too_slow_is_ended(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_S", 0.05)
    a_program(tmp_path / "bin", "exec cat /dev/zero > /dev/null")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with GitQuestions(str(code), rules=True) as asked:
        processes = [each for each in (asked._list, asked._commit, asked._status) if each is not None]
        assert asked.files() is None
        assert asked.commit() == NOTHING
    assert [process.returncode for process in processes] == [-9, -9, -9]


def test_questions_that_nobody_waits_for_are_ended(code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_program(tmp_path / "bin", "exec cat /dev/zero > /dev/null")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with GitQuestions(str(code), rules=True) as asked:
        processes = [each for each in (asked._list, asked._commit, asked._status) if each is not None]
    assert [process.returncode for process in processes] == [-9, -9, -9]
    assert all(process.stdout is not None and process.stdout.closed for process in processes)


# -- what a repository must not do ---------------------------------------------------------------------------


def test_no_program_of_the_repository_is_executed(code: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    hooks = a_folder(code / ".git/hooks", {name: trap.read_text() for name in ("post-index-change", "fsmonitor")})
    for hook in hooks.iterdir():
        hook.chmod(0o755)
    git(code, "config", "core.fsmonitor", str(trap))
    files_of(code)
    commit_of(code)
    assert not (tmp_path / "sprung").exists()


def test_the_index_of_the_repository_is_not_written(code: Path) -> None:
    index = code / ".git/index"
    os.utime(code / "a.py", (1, 1))
    before = index.read_bytes()
    commit_of(code)
    assert index.read_bytes() == before
