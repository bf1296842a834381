"""`haienv list`, `show` and `diff`: what they print of environments, for people and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from haienv.store.names import Owner
from haienv.store.spec import Spec
from unit.haienv.cli.conftest import Haienv
from unit.haienv.envs_kit import env_of, publish

BASE, BOB = Owner("base"), Owner("users", "bob")


@pytest.fixture
def some(root: Path) -> None:
    """ann's environment of two generations, one of all, one of bob, and one whose first build goes on."""
    env = env_of(root)
    publish(env, "six==1.16.0", "numpy==2.1", python="3.11.7")
    publish(
        env, "six==1.17.0", "timm==1.0", spec=Spec(description="for pictures"), python="3.12.1", cuda="12.6",
        extends="base/torch@1", requirements=("timm", "six"), size=2_500_000,
    )  # fmt: skip
    publish(env_of(root, "torch", BASE))
    publish(env_of(root, "other", BOB))
    env_of(root, "begun").generations_folder.mkdir(parents=True)


@pytest.mark.usefixtures("some")
def test_a_list_has_ones_own_the_groups_and_those_of_all(haienv: Haienv) -> None:
    lines = [line.split() for line in haienv("list").out.splitlines()]
    assert lines[0] == ["NAME", "GENERATION", "PYTHON", "CUDA", "FILES", "SIZE", "BUILT"]
    assert lines[1:] == [
        ["users/ann/begun", "-", "-", "-", "-", "-", "its", "first", "build", "has", "not", "ended"],
        ["users/ann/vision", "2", "3.12.1", "12.6", "3", "2.5", "MB", "2026-01-01T00:00:00Z"],
        ["base/torch", "1", "3.11.7", "-", "3", "1.5", "kB", "2026-01-01T00:00:00Z"],
    ]


@pytest.mark.usefixtures("some")
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["-a"], {"users/ann/begun", "users/ann/vision", "base/torch", "users/bob/other"}),
        (["-u", "bob"], {"users/bob/other"}),
        (["-u", "nobody"], set()),
    ],
)
def test_which_environments_are_listed(haienv: Haienv, words: list[str], names: set[str]) -> None:
    assert {one["name"] for one in haienv("list", "--json", *words).data["items"]} == names
    # The original's spelling.
    assert {one["name"] for one in haienv("list", "-o", "json", *words).data["items"]} == names


def test_a_user_whose_name_is_none_is_refused(haienv: Haienv) -> None:
    found = haienv("list", "-u", "../x")
    assert found.code == 2
    assert "user" in found.err


@pytest.mark.usefixtures("some")
def test_json_has_the_manifest_or_what_is_wrong(haienv: Haienv) -> None:
    found: dict[str, Any] = {one["name"]: one for one in haienv("list", "--json").data["items"]}
    assert found["users/ann/begun"] == {
        "name": "users/ann/begun",
        "trouble": "its first build has not ended",
        "draft": False,
    }
    assert (found["users/ann/vision"]["generation"], found["users/ann/vision"]["trouble"]) == (2, "")


@pytest.mark.usefixtures("some")
def test_an_environment_is_shown(haienv: Haienv, root: Path) -> None:
    lines = haienv("show", "vision").out.splitlines()
    facts = {line[:12].strip(): line[13:] for line in lines if not line.startswith("  ")}
    assert facts.pop("python").startswith("3.12.1 (" + str(root))
    assert facts.pop("files").startswith("3, 2.5 MB, sha256:0")
    assert facts == {
        "environment": "users/ann/vision@2", "about": "for pictures", "cuda": "12.6", "extends": "base/torch@1",
        "asked for": "timm, six", "built": "2026-01-01T00:00:00Z by ann", "generations": "1, 2", "packages": "2",
    }  # fmt: skip
    assert lines[-2:] == ["  six 1.17.0", "  timm 1.0"]


@pytest.mark.usefixtures("some")
def test_an_earlier_generation_says_that_it_is_one(haienv: Haienv, root: Path) -> None:
    text = haienv("show", "vision@1").out
    assert "users/ann/vision@1 (not current)" in text
    assert "cuda" not in text, "what it has not is left out"
    data = haienv("show", "vision@1", "--json").data
    assert (data["packages"], data["generations"], data["current"]) == ({"six": "1.16.0", "numpy": "2.1"}, [1, 2], 2)
    assert data["prefix"] == str(env_of(root).generation(1).prefix)


@pytest.mark.usefixtures("some")
@pytest.mark.parametrize("words", [["vision@1"], ["vision@1", "vision"], ["vision@1", "vision@2"]])
def test_what_differs_between_two_generations(haienv: Haienv, words: list[str]) -> None:
    assert haienv("diff", *words).out.splitlines() == [
        "~ python 3.11.7 -> 3.12.1", "- numpy 2.1", "~ six 1.16.0 -> 1.17.0", "+ timm 1.0",
    ]  # fmt: skip
    changes = haienv("diff", *words, "--json").data["changes"]
    assert {"package": "numpy", "before": "2.1", "after": None} in changes


@pytest.mark.usefixtures("some")
def test_where_nothing_differs_it_says_so(haienv: Haienv) -> None:
    assert haienv("diff", "vision").out == "the packages are the same\n"


@pytest.mark.usefixtures("some")
@pytest.mark.parametrize("words", [["show", "text"], ["show", "vision@9"], ["diff", "vision@1", "text"]])
def test_what_is_not_there_is_an_error_in_one_line(haienv: Haienv, words: list[str]) -> None:
    found = haienv(*words)
    assert (found.code, found.out, found.err.count("\n")) == (1, "", 1)
    assert found.err.startswith("haienv: environment: ")


def test_where_there_is_none_the_list_says_how_to_make_one(haienv: Haienv) -> None:
    assert haienv("list").out == "there is none; `haienv create NAME PACKAGE ...` makes one of your own\n"
