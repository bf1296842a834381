"""The common part of both spawners: a start is decided once, for all callers."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyterhub.spawner import SpawnException
from traitlets import TraitError
from traitlets.config import Config

from hai_client.wire.storage import ContainerConfig
from hai_spawner.containers import mixin
from hai_spawner.containers.container_config import ContainerConfigError
from hai_spawner.containers.local import HaiLocalSpawner
from hai_spawner.containers.mixin import HaiSpawnerMixin
from hai_spawner.sizes.allocations import Allocations
from unit.spawner.spawn_kit import SIZES, a_hub, a_user, an_environment, some_places


@pytest.fixture(autouse=True)
def allocations(monkeypatch: pytest.MonkeyPatch) -> Allocations:
    made = Allocations()
    monkeypatch.setattr(HaiSpawnerMixin, "allocations", made)
    return made


def spawner(options: Any = None, *, user: Any = None, name: str = "", **more: Any) -> HaiLocalSpawner:
    """A spawner as the Hub has it at the moment of a start."""
    made = HaiLocalSpawner(**{"sizes": SIZES, "home_root": "/nowhere", **more})
    made.user, made.hub = user or a_user(), a_hub()
    made.orm_spawner = SimpleNamespace(user_options=options, name=name, state={}, server=None)
    made.user_options = {} if options is None else options
    made.api_token = "secret"
    return made


async def refused(made: HaiLocalSpawner) -> SpawnException:
    with pytest.raises(SpawnException) as error:
        await made.run_pre_spawn_hook()
    return error.value


async def test_a_size_sets_what_the_server_gets_before_the_hub_reads_the_timeout() -> None:
    made = spawner({"profile": "gpu-1"}, gpus=[2, 3])
    await made.run_pre_spawn_hook()
    assert (made.cpu_guarantee, made.cpu_limit, made.mem_limit) == (4.0, 4.0, 16 * 2**30)
    assert made.start_timeout == 900
    env = made.get_env()
    assert (env["HAI_SIZE"], env["CUDA_VISIBLE_DEVICES"]) == ("gpu-1", "2")
    assert env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


async def test_a_server_without_a_device_sees_none() -> None:
    made = spawner({"profile": "small"}, gpus=[2])
    await made.run_pre_spawn_hook()
    assert made.get_env()["CUDA_VISIBLE_DEVICES"] == ""


async def test_without_sizes_a_server_starts_as_it_always_did() -> None:
    made = spawner({}, sizes={})
    await made.run_pre_spawn_hook()
    assert await made.form() == ""
    assert "CUDA_VISIBLE_DEVICES" not in made.get_env()
    assert (await refused(spawner({"profile": "small"}, sizes={}))).status_code == 400


@pytest.mark.parametrize(
    ("options", "status", "reason"),
    [
        ({"profile": "tiny"}, 400, "options"),
        ({"image": "evil"}, 400, "options"),
        ({"profile": {"$ne": 1}}, 400, "options"),
        ({"profile": "huge"}, 403, "forbidden"),
        ({"profile": "gpu-1"}, 503, "capacity"),
        ({"environment": "torch"}, 400, "options"),
    ],
    ids=["unknown size", "unknown option", "table", "not allowed", "no device", "no such environment"],
)
async def test_a_start_over_rest_is_refused_with_status_and_reason(
    options: dict[str, Any], status: int, reason: str, allocations: Allocations
) -> None:
    error = await refused(spawner(options))
    assert (error.status_code, error.reason) == (status, reason)
    assert list(allocations) == []


async def test_a_quota_is_counted_over_all_servers_and_freed_when_one_is_gone() -> None:
    limits = {"*": {"user": 1}}
    first = spawner({}, limits=limits)
    await first.run_pre_spawn_hook()
    second = spawner({}, limits=limits, name="two")
    error = await refused(second)
    assert (error.status_code, error.reason) == (429, "quota")
    assert "you have 1 of 1 servers" in error.message
    first.clear_state()
    await second.run_pre_spawn_hook()


async def test_a_server_that_is_started_again_does_not_count_against_itself(allocations: Allocations) -> None:
    for _ in range(2):
        await spawner({}, limits={"*": {"user": 1}}).run_pre_spawn_hook()
    assert [(grant.user, grant.server) for grant in allocations] == [("ann", "")]


async def test_two_users_never_get_the_same_device() -> None:
    first, second = (spawner({"profile": "gpu-1"}, user=a_user(name), gpus=[0, 1]) for name in ("ann", "bob"))
    await first.run_pre_spawn_hook()
    await second.run_pre_spawn_hook()
    assert [made.get_env()["CUDA_VISIBLE_DEVICES"] for made in (first, second)] == ["0", "1"]
    third = spawner({"profile": "gpu-1"}, user=a_user("eva"), gpus=[0, 1])
    assert (await refused(third)).reason == "capacity"


async def test_what_was_granted_outlives_a_restart_of_the_hub(allocations: Allocations) -> None:
    before = spawner({"profile": "gpu-1"}, user=a_user(groups=("ml",)), gpus=[5])
    await before.run_pre_spawn_hook()
    state = before.get_state()
    allocations.remove("ann", "")
    spawner(user=a_user(groups=("ml",)), gpus=[5]).load_state(state)
    (grant,) = allocations
    assert (grant.size, grant.groups, grant.devices) == ("gpu-1", frozenset({"ml"}), (5,))


async def test_a_start_leaves_nothing_behind_for_the_next_one() -> None:
    """Neither the configuration, which all spawners share, nor a fresh spawner knows of the last size."""
    config = Config()
    config.HaiLocalSpawner.sizes = copy.deepcopy(SIZES)
    config.HaiLocalSpawner.environment = {"A": "1"}
    before = copy.deepcopy(config)
    first = spawner({"profile": "gpu-1"}, config=config, gpus=[0])
    await first.run_pre_spawn_hook()
    first.get_env()
    first.clear_state()
    assert config == before
    second = spawner({"profile": "small"}, config=config, gpus=[0])
    await second.run_pre_spawn_hook()
    assert (second.mem_limit, second.start_timeout) == (2 * 2**30, 120)
    assert second.get_env()["CUDA_VISIBLE_DEVICES"] == ""


async def test_options_that_were_refused_are_not_taken_for_the_next_start() -> None:
    """The Hub saves what was sent before it is checked, and sends it again when a start asks for nothing."""
    made = spawner({"profile": "tiny"})
    await refused(made)
    assert made.orm_spawner.user_options == {}
    waiting = spawner({"profile": "gpu-1"})
    await refused(waiting)
    assert waiting.orm_spawner.user_options == {"profile": "gpu-1"}


async def test_the_hub_knows_the_size_of_a_server_that_asked_for_none() -> None:
    made = spawner({})
    await made.run_pre_spawn_hook()
    assert made.orm_spawner.user_options == {"profile": "small"}


async def test_an_administrators_hook_runs_after_and_may_change_what_was_set() -> None:
    def hook(made: HaiLocalSpawner) -> None:
        made.mem_limit = made.mem_limit * 2

    made = spawner({"profile": "small"}, pre_spawn_hook=hook)
    await made.run_pre_spawn_hook()
    assert made.mem_limit == 4 * 2**30


async def test_an_administrators_option_hook_cannot_lead_around_the_check() -> None:
    made = spawner({"profile": "huge"}, apply_user_options={"profile": "default_size"})
    await made._run_apply_user_options(made.user_options)
    assert (await refused(made)).status_code == 403


def test_a_wrong_size_is_told_by_the_setting_that_holds_it() -> None:
    with pytest.raises(TraitError, match=r"HaiLocalSpawner\.sizes\['a'\]\.memory is None"):
        HaiLocalSpawner(sizes={"a": {"cpu": 1}})


@pytest.mark.parametrize(
    ("section", "trait", "value", "words"),
    [
        ("HaiSpawnerMixin", "sizes", {"a": {}}, r"HaiLocalSpawner\.sizes\['a'\]\.cpu"),
        ("HaiLocalSpawner", "limits", {"a": {}}, r"HaiLocalSpawner\.limits\['a'\]: there is no size"),
        ("Spawner", "default_size", "x", r"HaiLocalSpawner\.default_size is 'x'"),
    ],
)
def test_the_configuration_can_be_checked_before_there_is_a_user(
    section: str, trait: str, value: Any, words: str
) -> None:
    config = Config()
    config[section][trait] = value
    with pytest.raises(ValueError, match=words):
        HaiLocalSpawner.check_config(config)


TORCH = an_environment("torch", python="/opt/torch/bin/python", variables={"A": "of torch", "B": "{b}"}, default=True)


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the service answers, and what it was asked."""
    found: dict[str, Any] = {"container_config": some_places(TORCH, an_environment("jax"))}

    async def ask(*args: Any, **asked: Any) -> ContainerConfig:
        found["asked"] = (args, asked)
        if isinstance(found["container_config"], Exception):
            raise found["container_config"]
        container_config: ContainerConfig = found["container_config"]
        return container_config

    monkeypatch.setattr(mixin, "places_of", ask)
    return found


async def test_the_service_is_asked_for_the_user_with_their_groups(answer: dict[str, Any]) -> None:
    made = spawner(
        ask_scheduler=True, hai_api_url="http://s/api", scheduler_token_file="/t", user=a_user(groups=("ml",))
    )
    await made.run_pre_spawn_hook()
    assert answer["asked"] == (
        ("http://s/api", "/t"),
        {"user": "ann", "groups": frozenset({"ml"}), "node_group": "jupyter"},
    )


@pytest.mark.parametrize(
    ("options", "name", "python"),
    [({}, "torch", "/opt/torch/bin/python"), ({"environment": "jax"}, "jax", None)],
    ids=["the default", "chosen"],
)
async def test_an_environment_brings_its_variables_and_no_setting_is_lost(
    answer: dict[str, Any], options: dict[str, Any], name: str, python: str | None
) -> None:
    made = spawner(options, ask_scheduler=True, environment={"A": "of the administrator"})
    await made.run_pre_spawn_hook()
    env = made.get_env()
    assert (env["HAI_ENVIRONMENT"], env.get("HAI_PYTHON"), env["A"]) == (name, python, "of the administrator")
    assert env.get("B") == ("{b}" if name == "torch" else None)


async def test_an_environment_of_another_user_is_refused(answer: dict[str, Any]) -> None:
    error = await refused(spawner({"environment": "secret"}, ask_scheduler=True))
    assert error.status_code == 400
    assert "use one of torch, jax" in error.message


async def test_without_the_service_nothing_starts_and_the_page_says_so(
    answer: dict[str, Any], allocations: Allocations
) -> None:
    answer["container_config"] = ContainerConfigError("the scheduler service does not answer (TimeoutError)")
    made = spawner(ask_scheduler=True)
    error = await refused(made)
    assert (error.status_code, error.reason) == (503, "scheduler")
    assert "does not answer (TimeoutError). Try again" in error.message
    assert list(allocations) == []
    assert "does not answer (TimeoutError)" in await made.form()


async def test_by_a_setting_it_starts_without_folders_and_says_so(answer: dict[str, Any]) -> None:
    answer["container_config"] = ContainerConfigError("the scheduler service does not answer (TimeoutError)")
    made = spawner(ask_scheduler=True, without_scheduler="proceed")
    await made.run_pre_spawn_hook()
    notes = [event["message"] for event in made.first_words()]
    assert "Starting WITHOUT your folders and environments" in notes[-1]
    answer["container_config"] = ContainerConfigError("rule 'home' needs a name without /", wrong=True)
    assert (await refused(spawner(ask_scheduler=True, without_scheduler="proceed"))).status_code == 503


async def test_the_form_shows_sizes_and_environments(answer: dict[str, Any]) -> None:
    html = await spawner({"profile": "tiny"}, ask_scheduler=True).get_options_form()
    assert 'value="small"' in html
    assert 'value="jax"' in html
    assert 'value="huge"' not in html


def test_a_form_with_an_option_twice_is_refused_as_the_hub_shows_it() -> None:
    with pytest.raises(SpawnException, match="given 2 times") as error:
        spawner().run_options_from_form({"profile": ["small", "huge"]})
    assert error.value.status_code == 400


async def test_progress_says_the_size_first() -> None:
    made = spawner({"profile": "small"})
    await made.run_pre_spawn_hook()
    first = await anext(made.progress())
    assert first["message"] == "Size small: 1 CPU, 2 GiB"


def test_the_servers_environment_names_what_ends_it_and_what_keeps_it(tmp_path: Path) -> None:
    env = spawner(culler_url="http://h/services/hai-culler", keep=["kernels", "terminals"]).get_env()
    assert env["HAI_CULLER_URL"] == "http://h/services/hai-culler"
    assert env["HAI_IDLE_KEEP"] == "kernels,terminals"
