"""Tasks are pinned to generations of environments: at submission, over all turns, and until they have ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.workspace.abi import Needs
from hai_scheduler.core.workspace.builds import BuildSettings, BuildVerb, EnvironmentBuild
from hai_scheduler.core.workspace.mounts import MountKind, MountRule
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from kit.builders import a_mount_rule, a_pin, an_environment
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service, message_in
from unit.service.workspace.pinned_world import ANN, LATER, MINE, World


async def build(world: World, who: Caller, name: str, verb: BuildVerb = BuildVerb.REBUILD) -> TaskId:
    admitted = await world.platform.tasks.builds.begin(who, EnvironmentBuild(verb=verb, environment=name))
    world.cluster.jobs.script(admitted.task.id, Behaviour())
    return admitted.task.id


# --- at submission


@pytest.mark.parametrize("name", ["vision", "vision@3", "users/ann/vision", "users/ann/vision@3"])
async def test_a_task_stores_the_generation_that_its_environment_has_now(world: World, name: str) -> None:
    assert await world.pin(await world.send(environment=name)) == MINE


async def test_a_name_that_nobody_knows_is_refused_with_the_images_that_there_are(world: World) -> None:
    await world.platform.workspace.images.put(ADMIN, an_environment("torch"))
    with pytest.raises(Invalid, match=r"environment: there is no 'visoin'.*images/torch") as caught:
        await world.send(environment="visoin")
    assert caught.value.field == "environment"


async def test_an_image_keeps_its_name_and_a_clash_is_told_with_both_full_names(world: World) -> None:
    await world.platform.workspace.images.put(ADMIN, an_environment("vision"))
    task = await world.send(environment="vision")
    assert await world.pin(task) is None
    [said] = await world.warned(environment="vision")
    assert "images/vision" in said
    assert "users/ann/vision" in said
    assert await world.pin(await world.send(environment="users/ann/vision")) == MINE
    assert await world.pin(await world.send(environment="images/vision")) is None
    assert await world.warned(environment="users/ann/vision") == []


async def test_an_environment_goes_with_the_users_default_image(world: World) -> None:
    await world.platform.workspace.images.put(ADMIN, an_environment("torch", default=True, image="quay.io/torch:2"))
    task = await world.send(environment="vision")
    async with world.store.read() as tx:
        spec = await tx.tasks.get_spec(task)
    assert (spec.environment, spec.haienv) == ("torch", MINE)
    await world.step()
    assert world.launches[0].image == "quay.io/torch:2"


async def test_an_environment_that_cannot_run_in_the_users_image_is_refused_with_both_versions(world: World) -> None:
    world.environments.needs[MINE.name] = Needs(machine="x86_64", glibc="2.34")
    old = an_environment("torch", default=True, glibc="2.31", machine="x86_64")
    await world.platform.workspace.images.put(ADMIN, old)
    with pytest.raises(Invalid, match=r"needs glibc 2\.34, and the image torch has 2\.31: build it where") as caught:
        await world.send(environment="vision")
    assert caught.value.field == "environment"
    with pytest.raises(Invalid, match=r"the image torch has 2\.31.*or submit with --no-venv"):
        await world.send(env={"HAI_VENV": world.environments.prefix(MINE)})
    await world.platform.workspace.images.put(ADMIN, replace(old, glibc="2.36"))
    assert await world.pin(await world.send(environment="vision")) == MINE
    # Of an image of which nothing is said nothing is known.
    await world.platform.workspace.images.put(ADMIN, replace(old, glibc="", machine=""))
    assert await world.pin(await world.send(environment="vision")) == MINE


async def test_what_is_submitted_from_an_environments_own_python_is_pinned_to_it(world: World) -> None:
    prefix = world.environments.prefix(MINE)
    world.environments.publish(LATER)
    assert await world.pin(await world.send(env={"HAI_VENV": prefix})) == MINE
    assert await world.pin(await world.send(env={"HAI_VENV": "/home/ann/venv"})) is None


async def test_two_pythons_are_refused(world: World) -> None:
    with pytest.raises(Invalid, match=r"is one Python, and /home/ann/venv"):
        await world.send(environment="vision", env={"HAI_VENV": "/home/ann/venv"})
    own = {"HAI_VENV": world.environments.prefix(MINE)}
    assert await world.pin(await world.send(environment="vision", env=own)) == MINE


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "name one with --env"),
        ({"environment": "vision@3"}, "names a generation"),
    ],
    ids=["no environment", "a generation"],
)
async def test_the_newest_of_what_is_refused(world: World, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid, match=said) as caught:
        await world.send(env_latest=True, **fields)
    assert caught.value.field == "env_latest"


async def test_without_environments_every_name_is_an_images() -> None:
    service = Service()
    await service.open()
    with pytest.raises(Invalid, match="there is no environment 'vision'"):
        await service.submit("t", "ann", environment="vision")


# --- at a start


async def test_every_turn_uses_the_generation_of_the_submission(world: World) -> None:
    task = await world.send(environment="vision", env={"MINE": "1"})
    await world.step()
    world.environments.publish(LATER)
    await world.suspend_and_resume(task)
    assert [order.env["HAI_VENV"] for order in world.launches] == [world.environments.prefix(MINE)] * 2
    assert {order.env["HAIENV"] for order in world.launches} == {"users/ann/vision@3"}
    assert await world.pins_of_runs(task) == [MINE, MINE]
    assert await world.pin(await world.send(environment="vision")) == LATER


async def test_the_newest_is_looked_up_at_each_start_and_recorded_by_run(world: World) -> None:
    task = await world.send(environment="vision", env_latest=True)
    await world.step()
    world.environments.publish(LATER)
    await world.suspend_and_resume(task)
    assert [order.env["HAIENV"] for order in world.launches] == ["users/ann/vision@3", "users/ann/vision@4"]
    assert [pin and pin.generation for pin in await world.pins_of_runs(task)] == [3, 4]


async def test_a_task_finds_the_same_environments_as_its_user(world: World) -> None:
    await world.send()
    await world.step()
    env = world.launches[0].env
    assert (env["HAIENV_ROOT"], env["HAIENV_USER"], env["HAIENV_GROUPS"]) == ("/haienvs", "ann", "cv")
    assert "HAI_VENV" not in env


async def test_variables_of_an_environment_lie_between_the_images_and_the_users(world: World) -> None:
    variables = {"A": "env", "B": "env", "HAI_TASK_ID": "env", "PET_NNODES": "env", "HAIENV_USER": "env"}
    world.environments.publish(a_pin(generation=5, variables=variables))
    await world.platform.workspace.images.put(
        ADMIN, an_environment("torch", default=True, variables={"A": "image", "B": "image", "C": "image"})
    )
    task = await world.send(environment="vision", env={"B": "mine", "CONDA_PREFIX": "/opt/conda"})
    await world.step()
    env = world.launches[0].env
    assert (env["A"], env["B"], env["C"]) == ("env", "mine", "image")
    assert (env["HAI_TASK_ID"], env["PET_NNODES"]) == (str(task), "1")
    assert "CONDA_PREFIX" not in env


async def test_a_conda_environment_says_so(world: World) -> None:
    conda = a_pin(generation=6, flavour="conda")
    world.environments.publish(conda)
    await world.send(environment="vision")
    await world.step()
    env = world.launches[0].env
    assert (env["CONDA_PREFIX"], env["CONDA_DEFAULT_ENV"]) == (world.environments.prefix(conda), "vision")


@pytest.mark.parametrize("damage", ["removed", "another digest"])
async def test_a_damaged_environment_is_nobodys_fault_and_the_task_waits(world: World, damage: str) -> None:
    task = await world.send(environment="vision", retries=1)
    if damage == "removed":
        world.environments.remove(MINE)
    else:
        world.environments.publish(a_pin(digest="sha256:other"))
    await world.step()
    found = await world.task(task)
    assert (found.state, found.reason) == (TaskState.SUSPENDED, Reason.START_FAILED)
    assert (found.failed_starts, found.retries, found.avoid) == (1, 0, frozenset())
    assert world.launches == []
    async with world.store.read() as tx:
        assert await tx.nodes.strikes() == []
    shown = await world.platform.insight.queries.task(ANN, str(task))
    assert "users/ann/vision@3" in message_in(shown.view)
    # Brought back, it starts after its wait.
    world.environments.publish(MINE)
    await world.step(60)
    assert (await world.task(task)).state is TaskState.RUNNING


async def test_environments_are_read_only_in_tasks_whatever_the_mount_rule_says(world: World) -> None:
    rules: list[MountRule] = [
        a_mount_rule("envs", mount_path="/haienvs", kind=MountKind.PVC, source="envs", read_only=False),
        a_mount_rule("own", mount_path="/haienvs/users/{user}", kind=MountKind.PVC, source="own", read_only=False),
        a_mount_rule("other", mount_path="/haienvs-data", source="/d", read_only=False),
    ]
    for rule in rules:
        await world.platform.workspace.mount_rules.put(ADMIN, rule)
    await world.send(environment="vision")
    await world.step()
    assert {mount.mount_path: mount.read_only for mount in world.launches[0].mounts} == {
        "/haienvs": True,
        "/haienvs/users/ann": True,
        "/haienvs-data": False,
    }


# --- references


# --- builds


async def test_a_build_alone_may_write_below_its_owners_folder_as_the_account_of_builds(world: World) -> None:
    rule = a_mount_rule("envs", kind=MountKind.PVC, source="envs", mount_path="/haienvs", read_only=False)
    async with world.store.write() as tx:
        await tx.mount_rules.put(rule)
    world.settings = replace(world.settings, builder=BuildSettings(account="1001", image="quay.io/hai/lab:1"))
    world.restart()
    await world.step(30)
    world.environments.publish(a_pin("groups/cv/vision"))
    builder = replace(ANN, scopes=ANN.scopes | {"custom:hai:environments!group=cv"})
    await build(world, ANN, "users/ann/vision")
    await build(world, builder, "groups/cv/vision")
    await world.send("ordinary", command=("haienv", "rebuild", "groups/cv/vision"))
    await world.step()
    own, groups, ordinary = world.launches

    def seen(order: LaunchOrder) -> list[tuple[str, str, bool]]:
        return [(one.mount_path, one.sub_path, one.read_only) for one in order.mounts]

    assert (own.identity, own.folders_of) == (None, None)
    assert (groups.identity, groups.folders_of) == (await OneAccount(100).of_account("1001"), "1001")
    assert (own.image, own.env["HAI_BUILD"]) == ("quay.io/hai/lab:1", "rebuild users/ann/vision")
    assert seen(own) == [("/haienvs", "", True), ("/haienvs/users/ann", "users/ann", False)]
    assert groups.user == "ann"
    assert seen(groups) == [("/haienvs", "", True), ("/haienvs/groups/cv", "groups/cv", False)]
    # The folder that the cluster mounts for writing where it shows the environments itself.
    assert [order.haienv_writes for order in world.launches] == ["users/ann", "groups/cv", None]
    assert groups.env["HAI_CHECKPOINT_DIR"] == f"/checkpoints/1001/{groups.task_id}"
    assert (ordinary.identity, ordinary.image, seen(ordinary)) == (None, None, [("/haienvs", "", True)])


# --- who sees what


async def test_ranks_are_shown_the_environments_of_their_user_and_the_one_that_they_run(world: World) -> None:
    await world.send("before", environment="vision")
    await world.step()
    world.environments.apart = True
    await world.send("own", environment="vision")
    world.environments.publish(a_pin("users/bob/sight"))
    world.environments.shared.add("users/bob/sight")
    await world.send("other", environment="users/bob/sight")
    await world.send("none")
    await world.step()
    mine = ("base", "groups/cv", "users/ann")
    reads = {order.task_id: order.haienv_reads for order in world.launches}
    assert [reads[task] for task in sorted(reads)] == [None, mine, (*mine, "users/bob/sight"), mine]


async def test_a_build_is_shown_what_it_extends_and_what_is_in_use(world: World) -> None:
    world.environments.apart = True
    world.environments.publish(a_pin("users/bob/sight"))
    world.environments.shared.add("users/bob/sight")
    made = EnvironmentBuild(verb=BuildVerb.CREATE, environment="users/ann/new", extend="users/bob/sight")
    admitted = await world.platform.tasks.builds.begin(ANN, made)
    world.cluster.jobs.script(admitted.task.id, Behaviour())
    await world.step()
    [order] = world.launches
    assert order.haienv_writes == "users/ann"
    assert order.haienv_reads == ("base", "groups/cv", "references", "users/ann", "users/bob/sight")


async def test_a_server_is_shown_what_others_share_too(world: World) -> None:
    world.environments.publish(a_pin("users/bob/sight"))
    world.environments.shared.add("users/bob/sight")
    view = world.platform.workspace.runtime_envs.container_view
    assert (await view("ann", {"cv"}, "jupyter")).haienvs is None
    world.environments.apart = True
    assert (await view("ann", {"cv"}, "jupyter")).haienvs == ("base", "groups/cv", "users/ann", "users/bob/sight")


async def test_who_has_left_the_group_since_builds_for_it_no_more(world: World) -> None:
    world.environments.publish(a_pin("groups/cv/vision"))
    builder = replace(ANN, scopes=ANN.scopes | {"custom:hai:environments"})
    task = await build(world, builder, "groups/cv/vision")
    async with world.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset()))
    await world.step()
    assert world.launches == []
    assert await world.states(task) != ["succeeded"]
    by_admin = await build(world, ADMIN, "groups/cv/vision")
    await world.step()
    assert [order.task_id for order in world.launches] == [by_admin]
