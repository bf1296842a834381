"""The verbs of drafts: what they change, what they refuse, and what a submission is told."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from haienv.building import drafts
from haienv.cli import drafting
from haienv.store.names import Owner
from unit.haienv.cli.conftest import Haienv
from unit.haienv.envs_kit import env_of, publish

CV = Owner("groups", "cv")


@pytest.fixture
def froze(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The environments whose drafts were frozen; each gets a generation with one more package."""
    frozen: list[str] = []

    def freeze(env: Any, *, say: object) -> drafts.Frozen:
        frozen.append(str(env.name))
        if not drafts.changed(env):
            return drafts.Frozen(env.current(), changed=False)
        return drafts.Frozen(publish(env, "six==1.17.0", "timm==1.0"), changed=True)

    monkeypatch.setattr(drafting.drafts, "freeze", freeze)
    return frozen


def change(env: Any, name: str = "two.py") -> None:
    """Install something in the draft."""
    [site] = drafts.prefix_of(env).glob("lib/*/site-packages")
    (site / name).write_text("Y = 2\n")


# -- draft ---------------------------------------------------------------------------------------------------


def test_a_draft_is_opened_once_and_then_is_open(haienv: Haienv, root: Path) -> None:
    env = env_of(root)
    publish(env, "six==1.17.0")
    found = haienv("draft", "vision")
    assert found.code == 0
    assert found.out.splitlines() == [
        f"opened: {env.draft}/prefix",
        "  source haienv users/ann/vision --draft    # then `uv pip install ...`, or pip where it is installed",
        "  haienv freeze users/ann/vision            # makes a generation of it",
    ]
    assert (env.draft / "prefix/lib/python3.11/site-packages/one.py").read_text() == "X = 1\n"
    assert haienv("draft", "vision").out.startswith(f"open already: {env.draft}/prefix\n")
    assert haienv("draft", "vision", "--json").data == {
        "environment": "users/ann/vision", "draft": f"{env.draft}/prefix", "new": False,
    }  # fmt: skip


def test_a_draft_that_is_discarded_is_gone_with_its_changes(haienv: Haienv, root: Path) -> None:
    env = env_of(root)
    publish(env)
    haienv("draft", "vision")
    change(env)
    assert haienv("draft", "vision", "--discard").out == "the draft of users/ann/vision is removed\n"
    assert not env.draft.exists()
    assert haienv("draft", "vision", "--json").data["new"] is True
    assert haienv("draft", "vision", "--discard", "--json").data == {"environment": "users/ann/vision", "draft": None}


@pytest.mark.parametrize("seen", [None, "", f"{'ab' * 32}\n"], ids=["none", "empty", "of an earlier release"])
def test_a_draft_whose_fingerprint_cannot_be_compared_is_compared_with_its_index(
    haienv: Haienv, root: Path, seen: str | None
) -> None:
    env = env_of(root)
    publish(env)
    haienv("draft", "vision")
    assert (env.draft / "seen").read_text().startswith("2:")
    (env.draft / "seen").unlink()
    if seen is not None:
        (env.draft / "seen").write_text(seen)
    assert not drafts.changed(env)
    change(env)
    assert drafts.changed(env)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["draft", "vision", "--discard"], 1, "users/ann/vision has none; `haienv draft users/ann/vision` opens one"),
        (["freeze", "vision"], 1, "users/ann/vision has none; `haienv draft users/ann/vision` opens one"),
        (["draft", "vision@1"], 2, "names a generation, and generations never change; write vision"),
        (["freeze", "vision@1"], 2, "names a generation, and generations never change; write vision"),
        (["draft", "none"], 1, "there is no users/ann/none"),
        (["freeze", "none"], 1, "users/ann/none has none"),
        (["freeze", "none", "--look"], 1, "there is no 'none'"),
    ],
)
def test_what_is_not_there_is_said_and_nothing_is_changed(
    haienv: Haienv, root: Path, froze: list[str], words: list[str], code: int, says: str
) -> None:
    env = env_of(root)
    publish(env)
    found = haienv(*words)
    assert (found.code, found.out) == (code, "")
    assert says in found.err
    assert (env.draft.exists(), env_of(root, "none").folder.exists(), froze) == (False, False, [])


# -- freeze --------------------------------------------------------------------------------------------------


def test_freeze_says_what_differs_from_where_the_draft_began(haienv: Haienv, root: Path, froze: list[str]) -> None:
    env = env_of(root)
    publish(env, "six==1.16.0")
    haienv("draft", "vision")
    change(env)
    # Rolled back or built meanwhile: the draft is compared with what it was opened from.
    publish(env, "torch==2.9.0")
    data = haienv("freeze", "vision", "--json").data
    assert (data["environment"], data["generation"], data["changed"], froze) == (
        "users/ann/vision", 3, True, ["users/ann/vision"],
    )  # fmt: skip
    assert data["changes"] == [
        {"package": "six", "before": "1.16.0", "after": "1.17.0"},
        {"package": "timm", "before": None, "after": "1.0"},
    ]


def test_freeze_of_a_draft_without_changes_stays(haienv: Haienv, root: Path, froze: list[str]) -> None:
    publish(env_of(root), "six==1.17.0")
    haienv("draft", "vision")
    assert haienv("freeze", "vision").out == "users/ann/vision@1 stays: nothing has changed\n"


# -- what a submission asks ----------------------------------------------------------------------------------


def told(environment: str | None, **more: Any) -> dict[str, Any]:
    found = {"environment": environment, "draft": True, "mine": True, "changed": False, "generation": None, **more}
    if environment is None:
        del found["generation"]
    return found


@pytest.mark.parametrize("look", [False, True], ids=["freeze", "look"])
@pytest.mark.parametrize(
    ("there", "data", "says", "frozen"),
    [
        ("nothing", told(None, draft=False, mine=False), "vision has no draft", None),
        ("no draft", told("users/ann/vision", draft=False, mine=False), "users/ann/vision has no draft", None),
        ("as it was", told("users/ann/vision"), "the draft of users/ann/vision has no changes", None),
        (
            "changed", told("users/ann/vision", changed=True),
            "the draft of users/ann/vision has changes; `haienv freeze users/ann/vision` makes a generation of them",
            "froze the draft of users/ann/vision as users/ann/vision@2",
        ),
    ],
)  # fmt: skip
def test_a_submission_freezes_what_has_changed_and_a_look_freezes_nothing(
    haienv: Haienv, root: Path, froze: list[str], there: str, data: dict[str, Any], says: str, frozen: str | None,
    look: bool,
) -> None:  # fmt: skip
    env = env_of(root)
    if there != "nothing":
        publish(env, "six==1.17.0")
    if there in ("as it was", "changed"):
        haienv("draft", "vision")
    if there == "changed":
        change(env)
    words = ["freeze", "vision", "--if-draft", *(["--look"] if look else [])]
    made = frozen is not None and not look
    found = haienv(*words)
    assert (found.code, found.out) == (0, f"{frozen if made else says}\n")
    assert froze == (["users/ann/vision"] if made else [])
    if made:
        change(env, "three.py")
    assert haienv(*words, "--json").data == ({**data, "generation": 3} if made else data)


@pytest.mark.parametrize(
    ("account", "mine"), [("ann", True), ("bob", False), ("jovyan", False), (None, False)],
    ids=["the caller's", "another user's", "one that all users share", "one without a name"],
)  # fmt: skip
def test_a_draft_in_a_group_is_frozen_by_the_one_who_opened_it(
    haienv: Haienv, root: Path, froze: list[str], monkeypatch: pytest.MonkeyPatch, account: str | None, mine: bool
) -> None:
    env = env_of(root, "vision", CV)
    publish(env, "six==1.17.0")
    haienv("draft", "groups/cv/vision")
    change(env)

    def name_of(number: int) -> Any:
        if account is None:
            raise KeyError(number)
        return SimpleNamespace(pw_name=account)

    monkeypatch.setattr(drafting, "pwd", SimpleNamespace(getpwuid=name_of))
    found = haienv("freeze", "vision", "--if-draft")
    name = "groups/cv/vision"
    assert found.out == (
        f"froze the draft of {name} as {name}@2\n" if mine else f"the draft of {name} is somebody else's\n"
    )
    assert froze == ([name] if mine else [])


def test_a_draft_of_another_account_is_never_mine(
    haienv: Haienv, root: Path, froze: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = env_of(root, "vision", CV)
    publish(env)
    haienv("draft", "groups/cv/vision")
    change(env)
    monkeypatch.setattr(drafting, "pwd", SimpleNamespace(getpwuid=lambda _: SimpleNamespace(pw_name="ann")))
    monkeypatch.setattr(drafting, "os", SimpleNamespace(geteuid=lambda: os.geteuid() + 1))
    assert haienv("freeze", "vision", "--if-draft", "--json").data["mine"] is False
    assert froze == []


def test_a_bare_name_is_the_callers_own_before_that_of_a_group(haienv: Haienv, root: Path, froze: list[str]) -> None:
    publish(env_of(root, "vision", CV))
    haienv("draft", "groups/cv/vision")
    publish(env_of(root))
    assert haienv("freeze", "vision", "--look", "--json").data["environment"] == "users/ann/vision"
