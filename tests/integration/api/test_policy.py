"""Policy numbers over HTTP: what is shown, what is changed, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.service.shared.policy_numbers import NUMBERS


def number(policy: Any, name: str) -> Any:
    return next(one for one in policy["numbers"] if one["name"] == name)


async def test_every_number_is_shown_with_its_meaning_and_where_it_comes_from(world) -> None:
    status, policy = await world.json("GET", "/policy")
    assert status == 200
    assert [one["name"] for one in policy["numbers"]] == [one.name for one in NUMBERS]
    origin = {"value": "30m", "length_s": 1800.0, "source": "default", "group": None, "by": None, "at": None}
    shown = number(policy, "slice")
    assert (shown["kind"], shown["rule"], shown["default"]) == ("duration", "O2, P2", "30m")
    assert (shown["common"], shown["groups"]) == (origin, {"training": origin})
    assert shown["choices"] == []
    assert [one["word"] for one in number(policy, "idle_action")["choices"]] == ["notify", "yield"]
    weights = number(policy, "weights")["common"]
    assert (weights["value"], weights["length_s"], policy["groups"]) == ({}, None, ["training"])
    assert (policy["trouble"], policy["warnings"]) == (None, [])


async def test_an_admin_changes_numbers_and_all_users_read_them(world) -> None:
    async with world.stream("/events", "bob") as feed:
        assert (await anext(feed))[0] == "hello"
        change = {
            "group": "training",
            "set": {"slice": "1h", "min_run_per_switch": 5, "weights": {"alice": 2, "bbo": 1}},
        }
        status, policy = await world.json("PUT", "/policy", "admin", json=change)
        kind, _, event = await anext(feed)
    assert status == 200
    shown = number(policy, "slice")
    assert (shown["common"]["source"], shown["groups"]["training"]["value"]) == ("default", "1h")
    assert (shown["groups"]["training"]["by"], shown["groups"]["training"]["group"]) == ("root", "training")
    assert policy["warnings"] == [
        "weights: HAI has never seen a user 'alice': check the spelling",
        "weights: HAI has never seen a user 'bbo': check the spelling",
    ]
    assert (kind, event["actor"]) == ("policy.changed", "root")
    assert event["data"]["changes"]["slice"] == {"old": "30m", "new": "1h"}
    await world.json("PUT", "/policy", "admin", json={"group": "training", "unset": ["slice", "weights"]})
    policy = (await world.json("GET", "/policy"))[1]
    assert number(policy, "slice")["groups"]["training"]["source"] == "default"
    assert number(policy, "min_run_per_switch")["groups"]["training"]["value"] == 5.0
    assert len(policy["warnings"]) == 0


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"set": {"min_run": "2h", "min_run_per_switch": 5}}, "set.min_run", "below min_run"),
        ({"set": {"slice": "banana"}}, "set.slice", "write for example"),
        ({"set": {"colour": 1}}, "set", "is not a policy number"),
        ({"set": {"slice": "1h"}, "group": "trianing"}, "group", "choose one of training"),
        ({"unset": ["colour"]}, "unset", "is not a policy number"),
        ({}, "set", "at least one number"),
        ({"set": {"weights": {"a\x00": 1}}}, "set", "NUL"),
        ({"sett": {}}, "sett", "not known here"),
        ({"set": []}, "set", "must be an object"),
    ],
    ids=["contradiction", "value", "name", "group", "unset", "nothing", "nul", "key", "list"],
)
async def test_a_wrong_change_is_refused_with_its_field_and_nothing_is_changed(world, body, field, said) -> None:
    before = (await world.json("GET", "/policy"))[1]
    status, problem = await world.json("PUT", "/policy", "admin", json=body)
    assert (status, problem["code"], problem["errors"][0]["field"]) == (400, "invalid", field)
    assert said in problem["detail"]
    assert (await world.json("GET", "/policy"))[1] == before


async def test_only_admins_may_change_numbers(world) -> None:
    assert (await world.json("PUT", "/policy", json={"set": {"slice": "1h"}}))[0] == 403


async def test_what_does_not_fit_the_configuration_is_told(world) -> None:
    async with world.store.write() as tx:
        await tx.settings.put(
            "policy", '{"all": {"slice": {"value": "1s", "by": "x", "at": "2026-01-05"}}, "groups": {}}'
        )
    policy = (await world.json("GET", "/policy"))[1]
    assert policy["trouble"].startswith("slice is 0:00:01, below min_run")
    assert number(policy, "slice")["common"]["value"] == "30m"


async def test_the_document_lists_the_numbers(world) -> None:
    document = (await world.json("GET", "/openapi.json", None))[1]
    schema = document["components"]["schemas"]["PolicyChange"]["properties"]["set"]
    assert list(schema["properties"]) == [one.name for one in NUMBERS]
    assert schema["additionalProperties"] is False
