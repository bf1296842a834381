"""Environments: who may use them, which is the default, what is refused before it is stored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.workspace.environments import Environment, admitted, default_of, usable, variables_of
from hai_scheduler.core.workspace.templates import Unresolvable, Wrong
from kit.builders import an_environment


def of(name: str, *subjects: str, default: bool = False) -> Environment:
    return an_environment(name, subjects=frozenset(subjects), default=default)


def test_one_may_use_what_is_for_oneself_for_ones_groups_and_for_all() -> None:
    known = [of("z", "public"), of("mine", "user:alice"), of("team", "group:ml", "user:bob"), of("other", "group:nlp")]
    assert [one.name for one in usable(known, "alice", {"ml"})] == ["mine", "team", "z"]
    assert [one.name for one in usable(known, "bob", ())] == ["team", "z"]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([], None),
        ([of("a", "public")], None),
        ([of("a", "user:bob", default=True)], None),
        ([of("b", "public", default=True)], "b"),
        ([of("a", "public", default=True), of("b", "group:ml", default=True)], "b"),
        ([of("a", "group:ml", default=True), of("b", "public", "user:alice", default=True)], "b"),
        ([of("b", "group:ml", default=True), of("a", "group:nlp", default=True)], "a"),
    ],
    ids=["none", "no default", "another's", "that of all users", "the group's", "one's own", "two groups'"],
)
def test_the_nearest_default_is_taken(known: list[Environment], expected: str | None) -> None:
    for ordered in (known, known[::-1]):
        found = default_of(ordered, "alice", {"ml", "nlp"})
        assert (found.name if found else None) == expected


def test_variables_are_filled_in_for_a_task_and_for_a_container() -> None:
    one = an_environment(variables={"HOME_OF": "/h/{user}", "RUN": "{user}-{task}", "JSON": '{{"a": 1}}'})
    assert variables_of(one, "alice", TaskId(41)) == {"HOME_OF": "/h/alice", "RUN": "alice-41", "JSON": '{"a": 1}'}
    assert variables_of(one, "alice", None) == {"HOME_OF": "/h/alice", "JSON": '{"a": 1}'}
    with pytest.raises(Unresolvable, match=r"environment 'torch': variables\.HOME_OF: the user name '../x'"):
        variables_of(one, "../x", None)


@pytest.mark.parametrize(
    "image",
    [
        "python",
        "python:3.11",
        "quay.io/ml/torch:2.9-cuda12",
        "registry.example:5000/a/b_c/d__e-f.g",
        "localhost:5000/x@sha256:" + "a" * 64,
        "x:1@sha256:" + "0" * 64,
    ],
)
def test_names_of_images_are_taken(image: str) -> None:
    assert admitted(an_environment(image=image), []).image == image


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "a/b"}, "name"),
        ({"name": ""}, "name"),
        ({"image": ""}, "image"),
        ({"image": "Torch"}, "image"),
        ({"image": "torch:"}, "image"),
        ({"image": "torch --privileged"}, "image"),
        ({"image": "torch\n"}, "image"),
        ({"image": "../torch"}, "image"),
        ({"image": "a/" * 300 + "b"}, "image"),
        ({"python": "python"}, "python"),
        ({"python": "/"}, "python"),
        ({"python": "/python"}, "python"),
        ({"python": "/opt/../bin/python"}, "python"),
        ({"python": "/opt//bin/python"}, "python"),
        ({"python": "/opt/bin/"}, "python"),
        ({"python": "/opt/{user}/python"}, "python"),
        ({"python": "/opt/a:/evil/python"}, "python"),
        ({"variables": {"1A": ""}}, "variables"),
        ({"variables": {"A-B": ""}}, "variables"),
        ({"variables": {"A\n": ""}}, "variables"),
        ({"variables": {"A": "{home}"}}, "variables.A"),
        ({"variables": {"A": "{group}"}}, "variables.A"),
        ({"variables": {"A": "{user.x}"}}, "variables.A"),
        ({"variables": {"A": '{"json": 1}'}}, "variables.A"),
        ({"variables": {"A": "\0"}}, "variables.A"),
        ({"machine": "x86-64"}, "machine"),
        ({"machine": "x" * 21}, "machine"),
        ({"machine": "x86_64", "image": None}, "machine"),
        ({"glibc": "2"}, "glibc"),
        ({"glibc": "2.31\n"}, "glibc"),
        ({"glibc": "2.31", "image": None}, "glibc"),
        ({"subjects": frozenset()}, "subjects"),
        ({"subjects": frozenset({"alice"})}, "subjects"),
        ({"subjects": frozenset({"group:"})}, "subjects"),
    ],
    ids=lambda value: str(value)[:40].encode("unicode_escape").decode() if not isinstance(value, dict) else
    " ".join(f"{k} {sorted(v) if isinstance(v, frozenset) else v}"[:40] for k, v in value.items()),
)  # fmt: skip
def test_a_wrong_environment_is_refused_with_its_field(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(Wrong) as caught:
        admitted(an_environment(**wrong), [])
    assert caught.value.field == field
    assert caught.value.message


def test_a_wrong_value_of_a_variable_is_not_repeated() -> None:
    with pytest.raises(Wrong) as caught:
        admitted(an_environment(variables={"TOKEN": "hunter2{"}), [])
    assert "hunter2" not in str(caught.value)
    assert caught.value.value is None


def test_a_subject_has_one_default() -> None:
    standing = of("a", "public", "group:ml", default=True)
    with pytest.raises(Wrong, match="environment 'a' is the default of group:ml already") as caught:
        admitted(of("b", "group:ml", "user:x", default=True), [standing])
    assert caught.value.field == "default"
    admitted(of("b", "group:ml"), [standing])
    admitted(of("b", "user:x", default=True), [standing])
    admitted(of("a", "public", default=True), [standing])


SUBJECTS = st.sampled_from(["public", "user:alice", "user:bob", "group:ml", "group:nlp"])
ENVIRONMENTS = st.builds(
    lambda name, subjects, default: of(name, *subjects, default=default),
    st.text("abc", min_size=1, max_size=2),
    st.sets(SUBJECTS, min_size=1),
    st.booleans(),
)


@given(known=st.lists(ENVIRONMENTS, unique_by=lambda one: one.name), data=st.data())
def test_the_default_is_one_that_may_be_used_whatever_the_order(known: list[Environment], data: st.DataObject) -> None:
    found = default_of(known, "alice", {"ml"})
    assert default_of(data.draw(st.permutations(known)), "alice", {"ml"}) == found
    mine = usable(known, "alice", {"ml"})
    assert found in mine or (found is None and not any(one.default for one in mine))
