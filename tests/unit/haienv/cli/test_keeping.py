"""The verbs that keep or remove: what is said of a draft that goes with its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.building import drafts
from haienv.store.layout import EnvFolder
from unit.haienv.cli.conftest import Haienv
from unit.haienv.envs_kit import env_of, publish


@pytest.fixture
def env(haienv: Haienv, root: Path) -> EnvFolder:
    """An environment with an open draft."""
    made = env_of(root)
    publish(made)
    haienv("draft", "vision")
    return made


def change(env: EnvFolder) -> None:
    (drafts.prefix_of(env) / "lib/python3.11/site-packages/two.py").write_text("Y = 2\n")


def test_a_draft_without_changes_goes_with_its_environment(haienv: Haienv, env: EnvFolder) -> None:
    assert haienv("remove", "vision").out == "users/ann/vision is removed, with its draft\n"
    assert not env.folder.exists()


def test_a_draft_with_changes_is_not_removed_silently(haienv: Haienv, env: EnvFolder) -> None:
    change(env)
    found = haienv("remove", "vision")
    assert found.code == 2
    assert found.err == (
        "haienv: draft: that of users/ann/vision has changes that no generation has, and they would be gone: `haienv"
        " freeze users/ann/vision` makes a generation of them; `haienv remove users/ann/vision --with-draft`, or first"
        " `haienv draft users/ann/vision --discard`, removes them\n"
    )
    assert [one.number for one in env.generations()] == [1]
    assert (drafts.prefix_of(env) / "lib/python3.11/site-packages/two.py").exists()
    assert haienv("remove", "vision", "--with-draft", "--json").data == {
        "environment": "users/ann/vision", "removed": True, "draft": True,
    }  # fmt: skip
    assert not env.folder.exists()


def test_an_environment_without_a_draft_is_removed_as_before(haienv: Haienv, root: Path) -> None:
    publish(env_of(root))
    assert haienv("remove", "vision").out == "users/ann/vision is removed\n"


@pytest.mark.parametrize("words", [["remove", "nothing"], ["remove", "nothing", "--with-draft"]])
def test_what_is_not_there_is_not_removed(haienv: Haienv, root: Path, words: list[str]) -> None:
    found = haienv(*words)
    assert (found.code, "there is no users/ann/nothing" in found.err) == (1, True)
