"""Policy numbers at run time: where they come from, how admins change them, what is refused, what survives."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.errors import Forbidden, Invalid, Unavailable
from hai_scheduler.service.shared.policy_store import SETTING, Override, PolicyLayers, overrides_of, text_of
from hai_scheduler.service.shared.settings import ServiceSettings
from kit.builders import at
from unit.service.service_world import ADMIN, Service, user

HOUR = timedelta(hours=1)
CONFIGURED = ServiceSettings(
    policy=Policies(
        default=Policy(min_run_per_switch=5.0), groups={"training": Policy(min_run_per_switch=5.0, slice=HOUR)}
    )
)


def override(value: object) -> Override:
    return Override(value, "root", at())


async def change(service: Service, group: str | None = None, unset: tuple[str, ...] = (), **values: object) -> None:
    await service.platform.policy.change(ADMIN, group, values, unset)


async def stored(service: Service) -> str | None:
    async with service.store.read() as tx:
        return await tx.settings.get(SETTING)


# --- which one counts


@pytest.mark.parametrize(
    ("sentence", "overrides", "group", "expected"),
    [
        ("it was never written", {}, None, (Policy().slice, "default", None)),
        ("the configuration wrote it for the group", {}, "training", (HOUR, "configuration", "training")),
        ("an admin wrote it for all", {None: {"slice": 2 * HOUR}}, None, (2 * HOUR, "admin", None)),
        ("a group without one takes what is for all", {None: {"slice": 2 * HOUR}}, "a100", (2 * HOUR, "admin", None)),
        (
            "the number for the group wins over the number for all, from any source",
            {None: {"slice": 2 * HOUR}},
            "training",
            (HOUR, "configuration", "training"),
        ),
        (
            "in the group an admin wins over the configuration",
            {"training": {"slice": 3 * HOUR}},
            "training",
            (3 * HOUR, "admin", "training"),
        ),
    ],
)
def test_the_nearest_and_latest_word_counts(sentence, overrides, group, expected) -> None:
    given = {level: {name: override(value) for name, value in own.items()} for level, own in overrides.items()}
    layers = PolicyLayers(CONFIGURED, given)
    origin = layers.origin("slice", group)
    assert (origin.value, origin.source, origin.group) == expected
    assert layers.policies().of(group or "elsewhere").slice == expected[0]


def test_a_number_that_the_configuration_writes_counts_even_if_it_is_the_default() -> None:
    same = replace(CONFIGURED, policy=Policies(groups={"a": Policy()}), policy_written=frozenset({("a", "slice")}))
    layers = PolicyLayers(same, {None: {"slice": override(2 * HOUR), "min_run_per_switch": override(3.0)}})
    assert layers.origin("slice", "a").source == "configuration"
    assert layers.policies().of("a").slice == Policy().slice
    assert layers.policies().of("a").min_run_per_switch == 3.0


def test_what_is_stored_reads_as_it_was() -> None:
    overrides = {None: {"slice": override(HOUR), "weights": override({"al": 2.0})}, "a": {"strikes": override(4)}}
    assert overrides_of(text_of(overrides)) == (overrides, None)
    assert text_of({None: {}}) is None


# --- changes


async def test_the_next_tick_uses_what_an_admin_has_set() -> None:
    service = await Service(nodes=1).open()
    task = await service.submit("ann", "ann")
    await service.submit("bob", "bob")
    await change(service, slice="10m", min_run="5m")
    await service.step()
    for _ in range(9):
        await service.step(60)
    assert await service.states(task) == ["running"]
    await service.step(60)
    assert await service.states(task) == ["suspended"]


async def test_a_change_rings_the_loop_and_is_in_the_audit_trail_with_old_and_new() -> None:
    service = await Service().open()
    async with service.bus.listen("tick") as ears:
        await change(service, slice="2h")
        assert await ears.wait(0)
    await change(service, slice="3h", min_run_per_switch=5)
    first, second = await service.events("policy.changed")
    assert (first.actor, first.user) == ("root", None)
    assert first.data == {"group": None, "changes": {"slice": {"old": "1m", "new": "2h"}}}
    assert second.data["changes"] == {
        "slice": {"old": "2h", "new": "3h"},
        "min_run_per_switch": {"old": 10.0, "new": 5.0},
    }


async def test_what_is_unset_is_as_the_configuration_says_again() -> None:
    service = await Service().open()
    await change(service, "training", slice="2h", min_run_per_switch=5)
    await change(service, "training", unset=("slice",))
    numbers = (await service.platform.policy.view()).groups["training"]
    assert (numbers["slice"].source, numbers["min_run_per_switch"].source) == ("configuration", "admin")
    assert (await service.events("policy.changed"))[-1].data["changes"] == {"slice": {"old": "2h", "new": "1m"}}
    await change(service, "training", unset=("min_run_per_switch",))
    assert await stored(service) is None


async def test_saying_it_again_changes_nothing_and_is_not_told_again() -> None:
    service = await Service().open()
    await change(service, slice="2h")
    text = await stored(service)
    await service.step(60)
    await change(service, slice="120m")
    await change(service, unset=("min_run_per_switch",))
    assert await stored(service) == text
    assert len(await service.events("policy.changed")) == 1


async def test_a_view_says_who_has_set_a_number_and_when() -> None:
    service = await Service().open()
    await service.step(60)
    await change(service, slice="2h")
    view = await service.platform.policy.view()
    origin = view.groups["training"]["slice"]
    assert (origin.source, origin.group, origin.by, origin.at) == ("admin", None, "root", service.clock.now())
    assert view.default["min_run"].source == "configuration"
    assert view.default["min_run_per_switch"].source == "default"


@pytest.mark.parametrize(
    ("sentence", "group", "values", "unset", "field", "said"),
    [
        ("a contradiction names the number given", None, {"min_run": "2m"}, (), "set.min_run", "below min_run"),
        ("... and the group", "training", {"min_run": "2m"}, (), "set.min_run", "in group 'training': slice is"),
        (
            "one of two is out of range",
            None,
            {"min_run_per_switch": 5, "slice": "1s"},
            (),
            "set.slice",
            "slice is 0:00:01",
        ),
        ("no number", None, {"slice": "banana"}, (), "set.slice", "'banana' is not a length of time"),
        ("an unknown name", None, {"colour": 1}, (), "set", "'colour' is not a policy number"),
        ("an unknown name to unset", None, {}, ("colour",), "unset", "'colour' is not a policy number"),
        ("an unknown group", "trianing", {"slice": "2h"}, (), "group", "choose one of training"),
        ("both at once", None, {"slice": "2h"}, ("slice",), "unset", "do one of the two"),
        ("nothing at all", None, {}, (), "set", "at least one number"),
    ],
)
async def test_what_is_refused_is_named_and_nothing_is_stored(sentence, group, values, unset, field, said) -> None:
    service = await Service().open()
    with pytest.raises(Invalid) as caught:
        await change(service, group, unset, **values)
    assert (caught.value.field, said in caught.value.message) == (field, True), str(caught.value)
    assert await stored(service) is None
    assert await service.events("policy.changed") == []


async def test_a_number_for_all_must_fit_the_groups_that_have_others() -> None:
    service = await Service().open()
    await change(service, "training", slice="2m")
    with pytest.raises(Invalid, match=r"set\.min_run: in group 'training': slice is .*, below min_run"):
        await change(service, min_run="10m", slice="1h")
    await change(service, "training", min_run="1m30s")
    with pytest.raises(Invalid, match="unset: in group 'training'"):
        await change(service, "training", unset=("slice",))


async def test_only_admins_change_numbers() -> None:
    service = await Service().open()
    with pytest.raises(Forbidden, match="custom:hai:admin"):
        await service.platform.policy.change(user("ann"), None, {"slice": "2h"}, ())


async def test_before_the_nodes_are_seen_no_group_is_known() -> None:
    service = Service()
    with pytest.raises(Unavailable, match="has not seen the nodes yet"):
        await change(service, "training", slice="2h")
    await change(service, slice="2h")


async def test_weights_of_users_never_seen_are_warned_of() -> None:
    service = await Service().open()
    async with service.store.write() as tx:
        await tx.users.put(UserRecord(name="ann"))
    await change(service, "training", weights={"ann": 2.0, "anne": 3.0})
    view = await service.platform.policy.view()
    assert view.warnings == ["weights: HAI has never seen a user 'anne': check the spelling"]


async def test_numbers_of_a_group_without_nodes_are_warned_of() -> None:
    service = await Service(policy=Policies(groups={"trianing": Policy()})).open()
    view = await service.platform.policy.view()
    assert view.warnings == ["group 'trianing' has numbers of its own but no nodes: check the spelling"]
    await change(service, "trianing", slice="2h")


# --- after a restart


async def test_what_is_set_survives_a_restart() -> None:
    service = await Service().open()
    await change(service, slice="2h")
    service.restart()
    assert (await service.platform.policy.view()).default["slice"].value == 2 * HOUR


async def test_what_no_longer_fits_the_configuration_is_left_out_and_told_and_can_be_mended(caplog) -> None:
    service = await Service().open()
    await change(service, slice="2m")
    service.settings = ServiceSettings(policy=Policies(default=Policy(min_run=timedelta(minutes=5))))
    service.restart()
    await service.step(6)
    latest_plan = service.loop.cycle.latest_plan
    assert latest_plan.ticks == 3, "the service works"
    assert latest_plan.policy_trouble is not None
    assert "slice is 0:02:00, below min_run (0:05:00)" in latest_plan.policy_trouble
    assert len([line for line in caplog.messages if "are not used" in line]) == 1
    view = await service.platform.policy.view()
    assert (view.trouble, view.default["slice"].value) == (latest_plan.policy_trouble, Policy().slice)
    await change(service, slice="1h")
    await service.step()
    assert (await service.platform.policy.view()).default["slice"].value == HOUR
    assert latest_plan.policy_trouble is None


@pytest.mark.parametrize(
    "text",
    ["not json", "[]", "{}", '{"all": 1, "groups": {}}', '{"all": {"slice": 1}, "groups": {}}'],
    ids=["text", "list", "empty", "number", "entry"],
)
async def test_what_cannot_be_read_stops_nothing(text: str) -> None:
    service = await Service().open()
    async with service.store.write() as tx:
        await tx.settings.put(SETTING, text)
    await service.step()
    assert service.loop.cycle.latest_plan.policy_trouble == "what is stored of them cannot be read: set them again"
    await change(service, slice="1h")
    await service.step()
    assert service.loop.cycle.latest_plan.policy_trouble is None


async def test_a_number_of_another_version_is_told_and_the_configuration_is_used() -> None:
    service = await Service().open()
    await change(service, slice="1h")
    content = json.loads(await stored(service) or "")
    content["all"]["colour"] = content["all"]["slice"]
    async with service.store.write() as tx:
        await tx.settings.put(SETTING, json.dumps(content))
    await service.step()
    assert "'colour' is not a policy number" in (service.loop.cycle.latest_plan.policy_trouble or "")


# --- who reads them


async def test_the_graces_of_a_task_are_those_of_its_group() -> None:
    service = await Service().open()
    await change(service, "training", default_grace="40s", max_grace="50s")
    await service.step()
    task = await service.submit("ann", "ann")
    assert (await service.task(task)).grace == timedelta(seconds=40)
    with pytest.raises(Invalid, match="between 0 and 50 seconds"):
        await service.submit("bob", "bob", grace=timedelta(seconds=51))
    await service.step()
    stopped = await service.platform.tasks.submissions.stop(user("ann"), str(task))
    assert stopped.run is not None
    assert stopped.run.notice is not None
    assert stopped.run.notice.limit - stopped.run.notice.at == timedelta(seconds=50)
