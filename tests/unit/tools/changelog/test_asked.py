from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from changelog import asked

CODE = "client/hai_client/skew.py"


@pytest.mark.parametrize(
    ("changed", "messages", "file"),
    [
        ([], [], ""),
        (["docs/users.md", "tests/unit/client/test_skew.py"], [], ""),
        ([CODE], ["A change"], CODE),
        (["lab_extension/src/lab/index.ts"], [], "lab_extension/src/lab/index.ts"),
        (["lab_extension/src/models/skew.spec.ts"], [], ""),
        (["helm/hai/values.yaml"], [], "helm/hai/values.yaml"),
        (
            ["scheduler_service/hai_scheduler/core/ordering/order.py"],
            [],
            "scheduler_service/hai_scheduler/core/ordering/order.py",
        ),
        (["scheduler_service/hai_scheduler/store/rows.py"], [], ""),
        ([CODE, "changelog.d/skew.user.md"], [], ""),
        ([CODE, "changelog.d/README.md"], [], CODE),
        ([CODE], ["One", "Two\n\nChangelog: none"], ""),
        ([CODE], ["Two, and Changelog: none of it"], CODE),
    ],
)
def test_what_people_notice_asks_for_a_fragment_or_a_word_in_the_commit(
    changed: list[str], messages: list[str], file: str
) -> None:
    assert asked.lacking(changed, messages) == file


def test_every_place_that_people_notice_is_there() -> None:
    root = Path(asked.__file__).parents[2]
    assert [name for name in (*asked.NOTICED, asked.FRAGMENTS) if not (root / name).is_dir()] == []


class Clone:
    """A repository with a release, main, and a branch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "work")
        self.release = self.commit("released.md")
        self.main = self.commit("client/a.py")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, name: str) -> str:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        self.git("add", "-A")
        self.git("commit", "-qm", f"{name}\n\nChangelog: none")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_main_itself_is_compared_with_the_last_release(clone: Clone) -> None:
    clone.git("update-ref", "refs/remotes/origin/main", clone.main)
    assert asked.base(clone.root, clone.release) == clone.release


def test_a_branch_is_compared_with_where_it_left_main(clone: Clone) -> None:
    clone.git("update-ref", "refs/remotes/origin/main", clone.main)
    clone.commit("client/b.py")
    assert asked.base(clone.root, clone.release) == clone.main
    (clone.root / "client" / "new.py").write_text("x")
    assert asked.changed(clone.root, clone.main) == ["client/b.py", "client/new.py"]
    assert [text.strip() for text in asked.messages(clone.root, clone.main) if text.strip()] == [
        "client/b.py\n\nChangelog: none"
    ]


def test_a_clone_that_knows_no_main_is_compared_with_the_last_release(clone: Clone) -> None:
    assert asked.base(clone.root, clone.release) == clone.release


def test_a_clone_that_lacks_both_has_no_base(clone: Clone) -> None:
    assert asked.base(clone.root, "0" * 40) == ""
