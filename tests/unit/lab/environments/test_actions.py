"""What the browser may ask haienv to do, as a list of arguments."""

from __future__ import annotations

from typing import Any

import pytest

from hai_lab.environments.actions import EnvironmentAction, action_of, full_name, reference
from hai_lab.problem import Problem


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"verb": "create", "name": "users/ann/vision", "extend": "base/torch@3", "python": "3.11", "kernel": False,
             "requirements": ["timm==1.0.20 ", "numpy >=2"]},
            ["create", "users/ann/vision", "--extend=base/torch@3", "--python=3.11", "--no-kernel", "timm==1.0.20",
             "numpy >=2"],
        ),
        ({"verb": "create", "name": "base/bare", "extend": None}, ["create", "base/bare"]),
        ({"verb": "install", "name": "base/a", "requirements": ["x"]}, ["install", "base/a", "x"]),
        ({"verb": "uninstall", "name": "base/a", "packages": ["x"]}, ["uninstall", "base/a", "x"]),
        ({"verb": "rollback", "name": "base/a", "generation": 2}, ["rollback", "base/a@2"]),
        ({"verb": "rollback", "name": "base/a"}, ["rollback", "base/a"]),
        ({"verb": "share", "name": "users/a/b", "group": "cv"}, ["share", "users/a/b", "--group=cv"]),
        ({"verb": "unshare", "name": "users/a/b", "all": True}, ["unshare", "users/a/b", "--all"]),
        ({"verb": "remove", "name": "groups/cv/x"}, ["remove", "groups/cv/x"]),
        ({"verb": "remove", "name": "users/a/b", "with_draft": False}, ["remove", "users/a/b"]),
        ({"verb": "remove", "name": "users/a/b", "with_draft": True}, ["remove", "users/a/b", "--with-draft"]),
    ],
    ids=lambda value: value["verb"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_an_action_becomes_a_list_of_arguments(body: Any, words: list[str]) -> None:
    assert action_of(body) == EnvironmentAction(body["verb"], body["name"], tuple(words))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "JSON object"),
        ({}, "verb is None"),
        ({"verb": "run", "name": "base/x"}, "verb is 'run'"),
        ({"verb": ["create"]}, "verb is"),
        ({"verb": "remove", "name": "x"}, "name is 'x'"),
        ({"verb": "remove", "name": "base/x", "force": True}, "force is True"),
        ({"verb": "remove", "name": "base/x", "with_draft": "yes"}, "with_draft is 'yes'"),
        ({"verb": "create", "name": "base/x", "extend": "-x"}, "extend is"),
        ({"verb": "create", "name": "base/x", "python": "/bin/sh"}, "python is"),
        ({"verb": "create", "name": "base/x", "kernel": "no"}, "kernel is"),
        ({"verb": "create", "name": "base/x", "requirements": "numpy"}, "requirements: give a list"),
        ({"verb": "install", "name": "base/x", "requirements": []}, "none is given"),
        ({"verb": "install", "name": "base/x", "requirements": ["--pre"]}, "requirements is"),
        ({"verb": "install", "name": "base/x", "requirements": [" -e ."]}, "requirements is"),
        ({"verb": "install", "name": "base/x", "requirements": ["a\nb"]}, "requirements is"),
        ({"verb": "install", "name": "base/x", "requirements": ["a" * 1001]}, "1000 characters"),
        ({"verb": "install", "name": "base/x", "requirements": ["a"] * 501}, "at most 500"),
        ({"verb": "uninstall", "name": "base/x", "packages": [1]}, "packages is 1"),
        ({"verb": "rollback", "name": "base/x", "generation": True}, "generation is True"),
        ({"verb": "rollback", "name": "base/x", "generation": 0}, "generation is 0"),
        ({"verb": "share", "name": "base/x"}, "give one of them"),
        ({"verb": "share", "name": "base/x", "group": "cv", "all": True}, "give one of them"),
        ({"verb": "share", "name": "base/x", "group": "--all"}, "group is"),
        ({"verb": "share", "name": "base/x", "all": "yes"}, "all is"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_field_and_value(body: Any, said: str) -> None:
    with pytest.raises(Problem) as refused:
        action_of(body)
    assert said in refused.value.detail
    assert refused.value.status == 400


def test_a_reference_names_its_field() -> None:
    assert reference("before", "users/ann/vision@3") == "users/ann/vision@3"
    with pytest.raises(Problem) as refused:
        reference("before", None)
    assert "before is None" in refused.value.detail


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({}, []),
        ({"extend": ""}, []),
        ({"extend": "groups/cv/torch"}, ["--extend=groups/cv/torch"]),
        ({"python": ""}, []),
        ({"python": "3"}, ["--python=3"]),
        ({"python": "3.12.10"}, ["--python=3.12.10"]),
        ({"kernel": True}, []),
        ({"kernel": False}, ["--no-kernel"]),
        ({"requirements": []}, []),
        ({"requirements": ["torch @ https://x/y.whl ; python_version < '3.12'"]},
         ["torch @ https://x/y.whl ; python_version < '3.12'"]),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_left_out_or_empty_is_no_argument(extra: dict[str, Any], words: list[str]) -> None:
    made = action_of({"verb": "create", "name": "users/ann/vision", **extra})
    assert made.arguments == ("create", "users/ann/vision", *words)


@pytest.mark.parametrize(
    "name",
    ["base/x", "groups/cv/x", "users/ann/x", "users/ann.b-c_d/x.1", "base/" + "x" * 63],
)
def test_a_full_name_has_an_owner_and_a_name(name: str) -> None:
    assert full_name(name) == name
    assert reference("before", f"{name}@1") == f"{name}@1"


@pytest.mark.parametrize(
    "name",
    ["x", "base", "base/", "/x", "base/.x", "base/-x", "base/x/y", "users/x", "users//x", "users/../x", "others/a/x",
     "base/x ", "base/x\n", "base/é", "base/" + "x" * 64, "base/x@1", None, 7, ["base/x"]],
    ids=repr,
)  # fmt: skip
def test_what_is_no_full_name_is_refused(name: Any) -> None:
    with pytest.raises(Problem, match="name is"):
        full_name(name)


@pytest.mark.parametrize("end", ["@0", "@01", "@", "@-1", "@1x", "@1\n", "@1234567890", "@1@2"])
def test_what_is_no_generation_is_refused(end: str) -> None:
    with pytest.raises(Problem, match="extend is"):
        action_of({"verb": "create", "name": "base/x", "extend": f"base/torch{end}"})


def test_a_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(Problem) as refused:
        full_name("x" * 10_000)
    assert len(refused.value.detail) < 200
