"""What a user may start: one answer for the page and for the REST interface."""

from __future__ import annotations

from typing import Any

import pytest

from hai_spawner.containers.form import render
from hai_spawner.containers.menu import Refusal, SizeOption, Why, choose, menu
from hai_spawner.containers.options import checked_options, form_options
from hai_spawner.sizes.capacity import rooms
from hai_spawner.sizes.catalogue import Person, parse_sizes
from hai_spawner.sizes.limits import parse_limits
from unit.spawner.spawn_kit import SIZES, a_grant, a_node, a_pod, an_environment

KEYS = frozenset({"profile", "environment"})
ALL = parse_sizes(SIZES)
ANN = Person(name="ann")


def offers(person: Person = ANN, *, nodes: Any = None, pods: Any = (), limits: Any = None, grants: Any = ()) -> Any:
    free = None if nodes is None else rooms(nodes, pods)
    return menu(person, ALL.values(), parse_limits(limits or {}, list(ALL)), grants, free)


def refused(found: tuple[SizeOption, ...], wanted: str | None, default: str = "") -> Refusal:
    with pytest.raises(Refusal) as error:
        choose(found, ALL, wanted, default)
    return error.value


def test_only_sizes_that_a_user_may_have_are_shown() -> None:
    assert [offer.size.name for offer in offers()] == ["small", "gpu-1"]
    assert [offer.size.name for offer in offers(Person(name="eva", admin=True))] == ["small", "gpu-1", "huge"]


def test_free_capacity_is_shown() -> None:
    found = {offer.size.name: offer.free for offer in offers(nodes=[a_node(gpus=3)], pods=[a_pod(gpus=1, cpu="2")])}
    assert found == {"small": 6, "gpu-1": 1}


def test_a_size_of_another_group_is_forbidden_and_what_would_start_is_named() -> None:
    refusal = refused(offers(nodes=[a_node()]), "huge")
    assert (refusal.why, refusal.status) == (Why.FORBIDDEN, 403)
    assert refusal.message == (
        "Size 'huge' is for group ml, role teacher, administrators. These would start now: small."
    )


def test_a_size_that_does_not_exist_is_a_wrong_option() -> None:
    refusal = refused(offers(), "tiny")
    assert (refusal.why, refusal.status) == (Why.OPTIONS, 400)
    assert "'tiny'" in refusal.message
    assert "small, gpu-1" in refusal.message


def test_no_capacity_says_what_is_missing_and_what_would_start() -> None:
    refusal = refused(offers(nodes=[a_node(gpus=1)], pods=[a_pod(gpus=1)]), "gpu-1")
    assert (refusal.why, refusal.status) == (Why.CAPACITY, 503)
    assert "no node has 1 nvidia.com/gpu free" in refusal.message
    assert refusal.message.endswith("These would start now: small.")


def test_an_exhausted_quota_says_whose_and_goes_before_capacity() -> None:
    limits = {"gpu-1": {"user": 1, "group": 1}}
    grants = [a_grant("bob", "gpu-1", "ml"), a_grant("ann", "gpu-1", "ml", server="x")]
    person = Person(name="ann", groups=frozenset({"ml"}))
    refusal = refused(offers(person, nodes=[], limits=limits, grants=grants), "gpu-1")
    assert (refusal.why, refusal.status) == (Why.QUOTA, 429)
    assert "you have 1 of 1 servers of size gpu-1 and group ml has 2 of 1 servers of size gpu-1" in refusal.message
    assert refusal.message.endswith("No size would start now: try again later.")


def test_capacity_that_is_not_known_refuses_no_server() -> None:
    assert choose(offers(), ALL, "gpu-1", "").name == "gpu-1"


@pytest.mark.parametrize(
    ("default", "nodes", "taken"),
    [("", [a_node()], "small"), ("gpu-1", [a_node(gpus=1)], "gpu-1"), ("huge", [a_node()], "small")],
    ids=["the first that could start", "the default", "a default that is not allowed"],
)
def test_who_asks_for_nothing_gets(default: str, nodes: Any, taken: str) -> None:
    assert choose(offers(nodes=nodes), ALL, None, default).name == taken


def test_a_default_without_capacity_is_refused_rather_than_replaced() -> None:
    assert refused(offers(nodes=[a_node()]), None, "gpu-1").why is Why.CAPACITY


def test_who_may_use_no_size_gets_none() -> None:
    assert refused((), None).status == 403


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"image": "evil"}, "'image'"),
        ({"profile": "small", "kubespawner_override": {}}, "'kubespawner_override'"),
        ({"profile": ["small"]}, "profile is ['small']"),
        ({"profile": {"a": 1}}, "profile is"),
        ({"profile": 7}, "profile is 7"),
        ({"environment": "x" * 201}, "at most 200"),
        ({"environment": "a\nb"}, "printable"),
        ({7: "small"}, "has 7"),
        (["small"], "a list"),
        ("small", "a text"),
    ],
    ids=["unknown", "override", "list", "table", "number", "long", "line", "key", "no table", "text"],
)
def test_options_that_are_not_are_refused(given: object, words: str) -> None:
    with pytest.raises(Refusal) as error:
        checked_options(given, KEYS)
    assert error.value.status == 400
    assert words in error.value.message


def test_options_that_are_null_or_empty_are_as_if_left_out() -> None:
    assert checked_options({"profile": None, "environment": ""}, KEYS) == {}


def test_a_form_is_read_as_what_the_rest_interface_would_get() -> None:
    form = {"profile": ["small"], "environment": [""], "_xsrf": ["x"], "other": ["1", "2"]}
    assert form_options(form, KEYS) == {"profile": "small", "environment": "", "other": ["1", "2"]}
    with pytest.raises(Refusal, match="profile is given 2 times"):
        form_options({"profile": ["small", "huge"]}, KEYS)


def page(found: Any, **given: Any) -> str:
    return " ".join(render(found, given.pop("environments", ()), sized=True, **given).split())


def test_the_page_disables_what_cannot_start_and_says_why() -> None:
    html = page(offers(nodes=[a_node(gpus=1)], pods=[a_pod(gpus=1)], limits={"small": {"user": 3}}))
    gpu = html[html.index('value="gpu-1"') :]
    assert "disabled" in gpu[: gpu.index(">")]
    assert "Not now: no node has 1 nvidia.com/gpu free" in gpu
    small = html[html.index('value="small"') : html.index('value="gpu-1"')]
    assert "checked" in small
    assert "disabled" not in small
    assert "7 could start now. You have 0 of 3 servers of size small." in small


@pytest.mark.parametrize(
    ("last", "default", "checked"),
    [
        ({}, "", "small"),
        ({}, "gpu-1", "gpu-1"),
        ({"profile": "gpu-1"}, "small", "gpu-1"),
        ({"profile": "x"}, "", "small"),
    ],
    ids=["first", "default", "last choice", "a choice that is gone"],
)
def test_the_page_marks(last: dict[str, str], default: str, checked: str) -> None:
    html = page(offers(), last=last, default=default)
    (marked,) = [part for part in html.split("<input")[1:] if "checked" in part[: part.index(">")]]
    assert f'value="{checked}"' in marked


def test_everything_on_the_page_is_escaped() -> None:
    evil = '"><script>alert(1)</script>'
    sizes = parse_sizes({"a": {"cpu": 1, "memory": 1, "title": evil, "description": evil}})
    person = Person(name="ann", groups=frozenset({evil}))
    found = menu(person, sizes.values(), parse_limits({"a": {"group": 0}}, ["a"]), [], None)
    html = page(found, environments=[an_environment(evil, description=evil)], notice=evil, last={"environment": evil})
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 6


def test_environments_can_be_chosen_and_the_last_one_is_marked() -> None:
    html = page((), environments=[an_environment("torch"), an_environment("jax")], last={"environment": "jax"})
    assert '<option value="jax" selected' in html
    assert '<option value="torch" selected' not in html
