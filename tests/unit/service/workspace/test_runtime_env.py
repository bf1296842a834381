"""Environments and mounts from the rules of admins to the launch of a run, and what happens when they are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hai_scheduler.core.lifecycle.transitions import Launch as Wanted
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.run import RankState
from hai_scheduler.core.model.task import TaskState
from hai_scheduler.core.workspace.mounts import Action, Mount, MountKind
from hai_scheduler.service.shared.errors import Forbidden, HaiError, Invalid, NotFound
from hai_scheduler.service.tasks.submission import Submission
from kit.builders import a_mount_rule, an_environment
from unit.service.service_world import ADMIN, message_in, user
from unit.service.workspace.watched import ANN, opened

# --- the launch


async def test_a_run_gets_the_mounts_of_its_user_and_their_groups_on_its_nodes() -> None:
    service = await opened()
    await service.rules(
        a_mount_rule("home", mount_path="/home/{user}", source="/src/{user}", read_only=False),
        a_mount_rule("team", subject="group:ml", mount_path="/team", source="/teams/{group}"),
        a_mount_rule("other", subject="group:nlp", mount_path="/other"),
        a_mount_rule("labs", mount_path="/labs", node_group="jupyter"),
        a_mount_rule("scratch", mount_path="/scratch", kind=MountKind.PVC, source="scratch/{task}"),
    )
    task = await service.send()
    await service.step()
    (launch,) = service.launches
    assert launch.mounts == (
        Mount(kind=MountKind.HOST_PATH, source="/src/ann", mount_path="/home/ann", read_only=False),
        Mount(kind=MountKind.PVC, source="scratch", sub_path=str(task), mount_path="/scratch"),
        Mount(kind=MountKind.HOST_PATH, source="/teams/ml", mount_path="/team"),
    )
    assert (launch.image, launch.python) == (None, None)


async def test_a_run_gets_image_python_and_variables_of_its_environment() -> None:
    service = await opened()
    variables = {"HF_HOME": "/hf/{user}", "SEED": "1", "RUN_OF": "{task}"}
    await service.environments(an_environment("torch", python="/opt/t/bin/python", variables=variables))
    task = await service.send(environment="torch", env={"SEED": "2"})
    await service.step()
    (launch,) = service.launches
    assert (launch.image, launch.python) == ("quay.io/ml/torch:2", "/opt/t/bin/python")
    shown = {name: launch.env[name] for name in ("HF_HOME", "SEED", "RUN_OF", "HAI_TASK_ID")}
    assert shown == {"HF_HOME": "/hf/ann", "SEED": "2", "RUN_OF": str(task), "HAI_TASK_ID": str(task)}


async def test_an_environment_is_read_again_at_each_launch() -> None:
    service = await opened()
    await service.environments(an_environment(image="torch:1"))
    task = await service.send(environment="torch")
    await service.step()
    await service.environments(an_environment(image="torch:2"))
    await service.platform.tasks.submissions.suspend(ANN, str(task))
    await service.step(30)
    await service.platform.tasks.submissions.resume(ANN, str(task))
    await service.step()
    assert [launch.image for launch in service.launches] == ["torch:1", "torch:2"]


@pytest.mark.parametrize("how", ["removed", "taken away"])
async def test_an_environment_that_is_gone_is_a_start_error_that_says_so_and_no_nodes_fault(how: str) -> None:
    service = await opened()
    await service.environments(an_environment("torch"), an_environment("jax"))
    task = await service.send(environment="torch", hold=True)
    if how == "removed":
        await service.platform.workspace.images.delete(ADMIN, "torch")
    else:
        await service.environments(an_environment("torch", subjects=frozenset({"user:bob"})))
    await service.platform.tasks.submissions.resume(ANN, str(task))
    await service.step(ticks=5)
    why = "it was removed" if how == "removed" else "ann may no longer use it"
    said = f"environment 'torch': {why}; ask an admin to give it back, or submit the task again: choose one of jax"
    story = await service.platform.insight.queries.task(ANN, str(task))
    assert story.view.task.failed_starts == 1, "it waits for its back-off"
    assert message_in(story.view) == f"Could not be started: {said}; start 2 of 3 waits until 08:00:15 UTC, in 15 s."
    for seconds in (15, 30):
        await service.step(seconds, ticks=5)
    over = await service.task(task)
    assert (over.state, over.reason, over.failed_starts) == (TaskState.FAILED, Reason.START_FAILED, 3)
    assert service.launches == []
    told = [event.data["message"] for event in await service.events("task.state") if event.data["from"] == "starting"]
    assert told == [said] * 3
    story = await service.platform.insight.queries.task(ANN, str(task))
    assert message_in(story.view) == f"Failed: it could not be started on its nodes ({said})."
    async with service.store.read() as tx:
        assert list(await tx.nodes.strikes()) == []
        assert set((await tx.nodes.marks()).values()) <= {NodeMark.NONE}
    assert not over.avoid


async def test_a_gang_that_is_up_in_part_is_ended_before_its_nodes_are_free() -> None:
    service = await opened()
    await service.environments(an_environment("torch"))
    service.refuse_launches = True
    task = await service.send(environment="torch", nodes=2)
    await service.step(ticks=1)
    async with service.store.write() as tx:
        stored = await tx.tasks.get(task)
        assert stored.run is not None
        up = replace(stored.run.ranks[0], state=RankState.RUNNING)
        await tx.tasks.save(replace(stored, run=replace(stored.run, ranks=(up, *stored.run.ranks[1:]))))
        await tx.environments.delete("torch")
    cycle = service.loop.cycle
    await cycle.effects.carry_out([Wanted(task, stored.run.id)], nodes=cycle.latest_plan.by_name())
    told = (await service.task(task)).run
    assert told is not None
    assert (told.live, told.killed_at is not None) == (True, True), "its nodes are not free yet"
    await service.step(ticks=8)
    left = await service.task(task)
    assert (left.state, left.reason, left.failed_starts) == (TaskState.SUSPENDED, Reason.START_FAILED, 1)
    for seconds in (15, 30):
        await service.step(seconds)
    over = await service.task(task)
    assert (over.state, over.reason) == (TaskState.FAILED, Reason.START_FAILED)


async def test_an_environment_that_is_given_back_in_time_lets_the_task_start() -> None:
    service = await opened()
    await service.environments(an_environment("torch"))
    task = await service.send(environment="torch", hold=True)
    await service.platform.workspace.images.delete(ADMIN, "torch")
    await service.platform.tasks.submissions.resume(ANN, str(task))
    await service.step()
    await service.environments(an_environment("torch"))
    await service.step(15)
    up = await service.task(task)
    assert (up.state, up.failed_starts, up.not_before) == (TaskState.RUNNING, 1, None)
    service.cluster.jobs.finish(up.run_id(2))
    await service.step(1)
    assert (await service.task(task)).failed_starts == 0, "it has come to something"


async def test_a_user_whose_name_fits_no_path_is_told_which_rule_stands_in_the_way() -> None:
    service = await opened()
    await service.rules(a_mount_rule("home", mount_path="/home/{user}"))
    task = await service.send(who=user("a/b"))
    for seconds in (0, 15, 30):
        await service.step(seconds)
    assert (await service.task(task)).state is TaskState.FAILED
    story = await service.platform.insight.queries.task(user("a/b"), str(task))
    assert "mount rule 'home': mount_path: the user name 'a/b' cannot be part of a path" in message_in(story.view)


# --- choosing


async def test_the_default_is_chosen_at_submission_and_kept() -> None:
    service = await opened()
    none = await service.send("before")
    await service.environments(
        an_environment("all", default=True), an_environment("team", subjects=frozenset({"group:ml"}), default=True)
    )
    teams = await service.send("team")
    everybodys = await service.send("all", who=user("bob"))
    named = await service.send("named", environment="all")
    chosen = [await service.spec_environment(task) for task in (none, teams, everybodys, named)]
    assert chosen == [None, "team", "all", "all"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("vision", "there is no environment 'vision' that you may use: choose one of jax, torch, or leave it out"),
        ("nothing", "there is no environment 'nothing' that you may use: choose one of jax, torch, or leave it out"),
        ("", "there is no environment '' that you may use"),
    ],
    ids=["another's", "unknown", "empty"],
)
async def test_what_one_may_not_use_is_refused_with_what_one_may(name: str, said: str) -> None:
    service = await opened()
    await service.environments(
        an_environment("torch"),
        an_environment("jax", subjects=frozenset({"group:ml"})),
        an_environment("vision", subjects=frozenset({"user:bob"})),
    )
    for attempt in (service.platform.tasks.submissions.submit, service.platform.tasks.submissions.rehearse):
        with pytest.raises(Invalid, match="environment") as caught:
            await attempt(ANN, Submission(name="t", command=("x",), cwd="/", environment=name))
        assert (caught.value.field, said in caught.value.message) == ("environment", True)


async def test_where_there_is_none_to_choose_the_error_says_so() -> None:
    service = await opened()
    with pytest.raises(Invalid, match="there is none to choose, or leave it out"):
        await service.send(environment="torch")


# --- admins


async def test_each_change_is_in_the_audit_trail_with_what_was_there_before() -> None:
    service = await opened()
    await service.rules(a_mount_rule("data"), a_mount_rule("data", priority=3))
    await service.platform.workspace.mount_rules.delete(ADMIN, "data")
    put = await service.events("mount.put")
    assert [event.actor for event in put] == ["root", "root"]
    assert put[0].data["before"] is None
    assert (put[1].data["before"]["priority"], put[1].data["priority"]) == (0, 3)
    assert [event.data for event in await service.events("mount.deleted")] == [{"name": "data"}]
    await service.environments(an_environment(variables={"KEY": "hidden"}), an_environment(image="torch:3"))
    await service.platform.workspace.images.delete(ADMIN, "torch")
    put = await service.events("environment.put")
    assert (put[1].data["before"]["image"], put[1].data["image"]) == ("quay.io/ml/torch:2", "torch:3")
    assert (put[0].data["variables"], "hidden" in str(put)) == (["KEY"], False)
    assert [event.data for event in await service.events("environment.deleted")] == [{"name": "torch"}]


async def test_nothing_is_stored_of_what_is_refused() -> None:
    service = await opened()
    await service.rules(a_mount_rule("data"))
    before = len(await service.events("mount.put"))
    for wrong in (
        a_mount_rule("data", mount_path="/etc"),
        a_mount_rule("twin"),
        a_mount_rule("x", action=Action.REMOVE, source="/x"),
    ):
        with pytest.raises(Invalid):
            await service.platform.workspace.mount_rules.put(ADMIN, wrong)
    async with service.store.read() as tx:
        assert list(await tx.mount_rules.all()) == [a_mount_rule("data")]
    assert len(await service.events("mount.put")) == before


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("HAI_RANK", "is set by the platform"),
        ("HAI_BUILD", "is set by the platform"),
        ("MASTER_ADDR", "is set by the platform"),
        ("JUPYTERHUB_API_TOKEN", "Hub"),
    ],
)
async def test_an_environment_sets_no_variable_of_the_platform(variable: str, said: str) -> None:
    service = await opened()
    with pytest.raises(Invalid, match=said) as caught:
        await service.environments(an_environment(variables={variable: "x"}))
    assert caught.value.field == f"variables.{variable}"


async def test_only_admins_see_and_change_rules_and_others_environments() -> None:
    platform = (await opened()).platform
    calls = (
        platform.workspace.mount_rules.show_all(ANN),
        platform.workspace.mount_rules.put(ANN, a_mount_rule()),
        platform.workspace.mount_rules.delete(ANN, "data"),
        platform.workspace.images.put(ANN, an_environment()),
        platform.workspace.images.delete(ANN, "torch"),
        platform.workspace.images.show(ANN, everybodys=True),
    )
    for call in calls:
        with pytest.raises(Forbidden):
            await call


async def test_what_is_not_there_cannot_be_removed() -> None:
    platform = (await opened()).platform
    errors: Sequence[HaiError] = []
    for call in (platform.workspace.mount_rules.delete(ADMIN, "x"), platform.workspace.images.delete(ADMIN, "x")):
        with pytest.raises(NotFound) as caught:
            await call
        errors = [*errors, caught.value]
    assert [str(error).split(":")[0] for error in errors] == [
        "There is no mount rule 'x'",
        "There is no environment 'x'",
    ]


async def test_slips_of_the_pen_are_told() -> None:
    platform = (await opened()).platform
    _, warnings = await platform.workspace.mount_rules.put(
        ADMIN, a_mount_rule(subject="user:nan", node_group="trianing")
    )
    assert [text.partition(":")[0] for text in warnings] == [
        "HAI has never seen a user 'nan'",
        "no node of a group 'trianing' takes tasks",
    ]
    _, warnings = await platform.workspace.images.put(
        ADMIN, an_environment(subjects=frozenset({"group:lm", "user:ann"}))
    )
    assert [text.partition(":")[0] for text in warnings] == ["HAI has never seen a user of the group 'lm'"]


# --- development containers


async def test_a_container_gets_what_needs_no_task() -> None:
    service = await opened()
    await service.rules(
        a_mount_rule("home", mount_path="/home/{user}", source="/src/{user}"),
        a_mount_rule("scratch", mount_path="/scratch/{task}"),
        a_mount_rule("gpu", mount_path="/gpu", node_group="training"),
        a_mount_rule("team", subject="group:ml", mount_path="/team"),
    )
    await service.environments(
        an_environment("torch", variables={"A": "{user}", "B": "{task}"}),
        an_environment("team", subjects=frozenset({"group:ml"}), default=True),
        an_environment("bobs", subjects=frozenset({"user:bob"})),
    )
    places = await service.platform.workspace.runtime_envs.container_view("ann", None, "jupyter")
    assert [mount.mount_path for mount in places.resolution.mounts] == ["/home/ann", "/team"]
    assert [(one.environment.name, one.default) for one in places.offers] == [("team", True), ("torch", False)]
    assert places.offers[1].variables == {"A": "ann"}
    assert (places.groups, places.warnings) == (["ml"], [])


async def test_groups_that_the_hub_names_count_and_those_of_an_unknown_user_are_none() -> None:
    service = await opened()
    await service.rules(a_mount_rule("team", subject="group:ml", mount_path="/team"))
    runtime_envs = service.platform.workspace.runtime_envs
    told = await runtime_envs.container_view("new", ["ml"], "jupyter")
    assert ([mount.mount_path for mount in told.resolution.mounts], told.warnings) == (["/team"], [])
    stranger = await runtime_envs.container_view("new", None, "jupyter")
    assert stranger.resolution.mounts == ()
    assert stranger.warnings[0].startswith("HAI has never seen a user 'new'")
    assert (await runtime_envs.container_view("ann", [], "jupyter")).resolution.mounts == ()


async def test_a_container_of_a_user_whose_name_fits_no_path_is_refused_with_the_rule() -> None:
    service = await opened()
    await service.rules(a_mount_rule("home", mount_path="/home/{user}"))
    with pytest.raises(Invalid, match="mount rule 'home'") as caught:
        await service.platform.workspace.runtime_envs.container_view("..", None, "jupyter")
    assert caught.value.field == "user"


async def test_a_damaged_rule_is_said_to_be_damaged() -> None:
    service = await opened()
    async with service.store.write() as tx:
        await tx.mount_rules.put(a_mount_rule("odd", mount_path="/x/{home}"))
    with pytest.raises(Invalid, match="a mount rule is damaged, an admin must write it again"):
        await service.platform.workspace.runtime_envs.container_view("ann", None, "jupyter")


# --- the user's own Python


class Mounts:
    """Files of a cluster whose ranks only see what is mounted."""

    async def unseen(self, folder: str, mounts: Sequence[Mount]) -> str | None:
        seen = [mount.mount_path for mount in mounts]
        return None if folder in seen else f"{folder} is not in {seen}"


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, []),
        ({"HAI_VENV": ""}, []),
        ({"HAI_VENV": "/home/ann"}, []),
        ({"HAI_VENV": "/opt/torch"}, ["env.HAI_VENV: /opt/torch is not in ['/home/ann', '/teams/ml']"]),
        ({"A": "1"}, []),
        ({"HAI_VENV": "torch"}, ["env.HAI_VENV: 'torch' is not the absolute path of a folder, so it is not used"]),
    ],
    ids=str,
)
async def test_a_user_with_a_python_that_their_ranks_will_not_see_is_told(env: dict[str, str], said: list[str]) -> None:
    service = await opened()
    await service.rules(
        a_mount_rule("home", mount_path="/home/{user}", source="/src/{user}"),
        a_mount_rule("team", subject="group:ml", mount_path="/teams/{group}", source="/teams/{group}"),
        a_mount_rule("labs", mount_path="/labs", node_group="jupyter"),
    )
    submissions = replace(service.platform.tasks.submissions, world=replace(service.platform.world, files=Mounts()))
    made = Submission(name="t", command=("train",), cwd="/", env=env)
    assert await submissions.warnings(ANN, made) == said
    # Where files are unknown, there is no warning.
    assert await replace(submissions, world=replace(service.platform.world, files=None)).warnings(ANN, made) == []


async def test_who_chooses_devices_is_told_that_the_platform_does() -> None:
    service = await opened()
    submissions = replace(service.platform.tasks.submissions, world=replace(service.platform.world, files=None))
    made = Submission(name="t", command=("train",), cwd="/", env={"CUDA_VISIBLE_DEVICES": "MIG-1", "A": "1"})
    (said,) = await submissions.warnings(ANN, made)
    assert said.startswith(
        "CUDA_VISIBLE_DEVICES: the platform sets it to the GPUs that a rank holds, whatever you give"
    )
