from __future__ import annotations

from pathlib import Path

import pytest

from changelog import __main__ as command

HISTORY = "# Changelog\n\nWhat each release brings.\n\n## 0.1.0 (2026-12-31)\n\n- Tasks.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    there = tmp_path / "changelog.d"
    there.mkdir()
    (there / "README.md").write_text("# Fragments")
    text = tmp_path / "CHANGELOG.md"
    text.write_text(HISTORY)
    monkeypatch.setattr(command, "FOLDER", there)
    monkeypatch.setattr(command, "TEXT", text)
    last = tmp_path / "last_release.toml"
    last.write_text('version = "0.1.0"\ncommit = "none"\n')
    monkeypatch.setattr(command, "LAST", last)
    digests = tmp_path / "releases" / "0.1.0" / "digests.json"
    digests.parent.mkdir(parents=True)
    digests.touch()
    monkeypatch.setattr(command, "RELEASES", tmp_path / "releases")
    return there


def test_the_fragments_of_this_tree_are_right() -> None:
    command.fragments.read(command.FOLDER)


def test_a_release_takes_the_fragments_above_the_one_before_and_removes_them(folder: Path) -> None:
    (folder / "shares.user.md").write_text("Tasks share a GPU.\n")
    command.write("0.2.0", "2027-02-28")
    assert command.TEXT.read_text() == HISTORY.replace(
        "\n## 0.1.0", "\n## 0.2.0 (2027-02-28)\n\n### For users\n\n- Tasks share a GPU.\n\n## 0.1.0"
    )
    assert [file.name for file in folder.iterdir()] == ["README.md"]


def test_a_wrong_fragment_is_said_before_a_change_is_looked_at(folder: Path) -> None:
    (folder / "shares.news.md").write_text("x")
    assert command.check().startswith("shares.news.md: name it")


def test_a_release_that_is_not_yet_cut_asks_for_nothing(folder: Path) -> None:
    command.write("0.2.0", "2027-02-28")
    assert command.check() == ""


def test_a_change_that_says_nothing_is_named_with_both_remedies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.asked, "base", lambda root, last: "a" * 40)
    monkeypatch.setattr(command.asked, "changed", lambda root, since: ["helm/hai/values.yaml"])
    monkeypatch.setattr(command.asked, "messages", lambda root, since: ["A change"])
    said = command.check()
    assert said.startswith("helm/hai/values.yaml differs from aaaaaaaa")
    assert "changelog.d/NAME.KIND.md" in said
    assert "`Changelog: none`" in said
