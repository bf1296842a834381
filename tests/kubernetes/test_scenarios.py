"""The whole platform on a real cluster: interruption and resumption in containers, and the faults that it must outlive.

What is killed is killed last, and brought back at once (kit.kubernetes.control). What the tests need beside KUBECONFIG
is said in kit.kubernetes.platform.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.conftest import PATIENCE
from hai_client.wire.schema import Run, Task
from kit.kubernetes import control
from kit.kubernetes.control import Nodes, evict
from kit.kubernetes.place import SOON, Place
from kit.kubernetes.platform import (
    INSIDE,
    NO_TRAINING,
    TRAINING_IMAGE,
    TRAINING_PACKAGES,
    PodPlatform,
    make_world,
)
from kit.kubernetes.traps import MOMENTS
from kit.waiting import wait_for

pytestmark = pytest.mark.alone

EPOCHS = 30
DIGITS = ("python3", "train_digits.py", "--epochs", str(EPOCHS))
#: The epochs after which a held training waits for the gate `training`, or for its notice.
HELD_AFTER = 8
HELD = ("python3", "held_digits.py", f"{INSIDE}/gates/training", str(HELD_AFTER), "--", *DIGITS[2:])


@pytest.fixture(scope="module")
def platform(shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodPlatform]:
    with make_world(shared_place) as world:
        made = PodPlatform(tmp_path_factory.mktemp("platform"), nodes=1, world=world)
        try:
            made.start()
            yield made
        finally:
            made.end()


@pytest.fixture
def nodes(platform: PodPlatform) -> Iterator[Nodes]:
    """The platform's nodes, which are as before when the test has ended, however it has."""
    made = Nodes(platform.world.nodes)
    yield made
    made.restore()


@pytest.fixture
def machines(nodes: Nodes) -> Nodes:
    """The same nodes; skips the test where nodes must not be killed."""
    if not control.PROGRAM:
        pytest.skip(control.ABSENT)
    return nodes


# -- the training -----------------------------------------------------------------------------------------


def train(platform: PodPlatform, user: str, name: str, command: tuple[str, ...]) -> int:
    """Train over both nodes, on half of each; the task's id."""
    words = ["submit", "--name", name, "--nodes", "2", "--gpus", str(platform.world.half), "--cwd", INSIDE]
    words += ["--grace", f"{PATIENCE:.0f}s"]
    words += ["--environment", "training", "-e", "OPENBLAS_NUM_THREADS=1", "--", *command]
    return int(platform.json(*words, user=user)["id"])


def log_of(platform: PodPlatform, task: int, user: str, rank: int = 0) -> str:
    return platform.hai("logs", str(task), "-r", str(rank), user=user).stdout


def hash_of(platform: PodPlatform, task: int, user: str) -> str:
    found = re.findall(r"weights sha256 ([0-9a-f]{64})", log_of(platform, task, user))
    assert len(found) == 1, log_of(platform, task, user)
    return str(found[0])


def trained_for(platform: PodPlatform, task: int, user: str, epochs: int) -> bool:
    return sum(line.text.startswith("epoch ") for line in platform.client(user).logs(task)) >= epochs


@pytest.fixture(scope="module")
def undisturbed(platform: PodPlatform) -> str:
    """The hash of the weights of a training that is not interrupted."""
    if not TRAINING_IMAGE and not TRAINING_PACKAGES:
        pytest.skip(NO_TRAINING)
    task = train(platform, "ann", "undisturbed", DIGITS)
    platform.until(task, "succeeded")
    return hash_of(platform, task, "ann")


def test_an_interrupted_training_over_two_nodes_ends_with_the_weights_of_an_undisturbed_one(
    platform: PodPlatform, undisturbed: str
) -> None:
    tasks = {user: train(platform, user, "training", HELD) for user in ("bob", "cy")}
    for user, task in tasks.items():
        wait_for("both to train", lambda: trained_for(platform, task, user, HELD_AFTER), SOON)  # noqa: B023

    urgent = platform.submit("urgent", user="dee", nodes=2, gpus=platform.world.half, priority="VERY_HIGH")
    for role in ("loop", "api"):
        os.kill(platform.service_pid(role), signal.SIGKILL)  # in the middle of it all; it is started again
    platform.world.open_gate("urgent")
    platform.until(urgent, "succeeded", user="dee")
    platform.world.open_gate("training")  # however long the service took to start, no training has ended before
    ended = {user: platform.until(task, "succeeded", user=user) for user, task in tasks.items()}

    assert sorted(len(task.runs) for task in ended.values()) == [1, 2], "one victim was chosen"
    victim = max(ended, key=lambda user: len(ended[user].runs))
    first, second = ended[victim].runs
    assert (first.reason, first.left) == ("preempted", "saved")
    assert first.notice is not None
    assert first.notice.beneficiary == urgent
    assert first.ended_at is not None
    assert first.ended_at < first.notice.deadline
    assert all(rank.notified_at for rank in first.ranks), "every rank was told"
    assert {rank.node for rank in first.ranks} == {rank.node for rank in second.ranks} == set(platform.world.nodes)
    for user, task in tasks.items():
        assert hash_of(platform, task, user) == undisturbed

    story = log_of(platform, tasks[victim], victim)
    epochs = [int(n) for n in re.findall(r"^epoch (\d+)/", story, re.MULTILINE)]
    assert epochs == list(range(1, EPOCHS + 1)), "one story: no epoch twice, none left out"
    for rank in (0, 1):
        starts = re.findall(r"run (\d+) started", log_of(platform, tasks[victim], victim, rank))
        assert starts == ["1", "2"], "no rank was lost, none was doubled"


# -- the service is killed --------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_service_that_is_killed_while_it_creates_a_gang_starts_it_once(platform: PodPlatform, moment: str) -> None:
    """The API server has accepted a part of the gang, and the service has recorded nothing of it."""
    name, before = f"killed-{moment}", platform.service_pid("loop")
    trap = platform.world.trap(moment)
    task = platform.submit(name, nodes=2)
    wait_for("the service to be killed", lambda: not trap.exists(), SOON)
    platform.until(task, "running")
    assert platform.service_pid("loop") != before
    platform.until_lines(name, 2, "started")
    platform.world.open_gate(name)
    ended = platform.until(task, "succeeded")
    assert_started_once(platform, name, ended)
    assert len(ended.runs) == 1


def assert_started_once(platform: PodPlatform, name: str, task: Task) -> None:
    """Check that every rank of every run of the task has started its command once."""
    wanted = {(run.id, str(rank.rank)): 1 for run in task.runs for rank in run.ranks}
    assert platform.world.starts(name) == wanted


# -- a node is drained ------------------------------------------------------------------------------------


def test_an_evicted_task_is_told_saves_and_goes_on_elsewhere(platform: PodPlatform, nodes: Nodes) -> None:
    task = platform.submit("drained")
    platform.until_lines("drained", 1, "started")
    (run,) = platform.until(task, "running").runs
    (node,) = run.nodes
    nodes.cordon(node)
    evict(platform.world.place, f"hai-{run.id.replace('.', '-')}-0")
    platform.until_lines("drained", 1, "resumed")
    first, second = platform.until(task, "running").runs
    assert (first.reason, first.left) == ("evicted", "saved")
    assert platform.world.told("drained") == [("evicted", first.id)]
    assert first.failed_ranks == ()
    assert second.nodes != first.nodes
    platform.world.open_gate("drained")
    ended = platform.until(task, "succeeded")
    assert len(ended.runs) == 2
    assert (ended.reason, ended.retries_used) == ("succeeded", 0)
    assert_started_once(platform, "drained", ended)


# -- the API server is killed -----------------------------------------------------------------------------


def test_nothing_is_lost_or_decided_while_the_api_server_is_dead(platform: PodPlatform, machines: Nodes) -> None:
    half, world = platform.world.half, platform.world
    gang = platform.submit("through-gang", nodes=2, gpus=half)
    ends = platform.submit("through-ends", gpus=half)
    platform.until_lines("through-gang", 2, "started")
    platform.until_lines("through-ends", 1, "started")
    for task in (gang, ends):
        platform.until(task, "running")
    waits = platform.submit("through-waits", nodes=2)
    platform.until(waits, "queued")

    machines.kill_server()
    wait_for("the service to say so", lambda: "cannot be seen" in platform.health(), SOON)
    # There is room for it, as far as was seen.
    late = platform.submit("through-late", gpus=half, priority="HIGH")
    world.open_gate("through-ends")
    platform.until_lines("through-ends", 1, "ended")
    ticks = [platform.client().health().last_tick_s]
    wait_for("some more seconds", lambda: (platform.client().health().last_tick_s or 0) > (ticks[0] or 0) + 5, SOON)
    assert "cannot be seen" in platform.health()
    assert [platform.state_of(task) for task in (gang, waits, late)] == ["running", "queued", "queued"]
    assert world.starts("through-late") == {}

    machines.restore()
    wait_for("all to be well", lambda: not platform.health(), SOON)
    platform.until(ends, "succeeded")
    platform.until(late, "running")
    assert platform.state_of(gang) == "running"
    world.open_gate("through-gang", "through-late", "through-waits")
    for name, task in (("ends", ends), ("gang", gang), ("late", late), ("waits", waits)):
        ended = platform.until(task, "succeeded")
        assert len(ended.runs) == 1, ended
        assert_started_once(platform, f"through-{name}", ended)


# -- a node is killed -------------------------------------------------------------------------------------


def test_a_killed_node_costs_runs_and_no_task(platform: PodPlatform, machines: Nodes) -> None:
    half, world = platform.world.half, platform.world
    gang = platform.submit("lost-gang", nodes=2, gpus=half)
    platform.until_lines("lost-gang", 2, "started")
    # One on each node, now that the gang has the other half of both. They go before it when there is room again.
    singles = {name: platform.submit(name, gpus=half, priority="HIGH") for name in ("lost-one", "lost-other")}
    for name, task in singles.items():
        platform.until_lines(name, 1, "started")
        platform.until(task, "running")
    places = {name: last_run(platform, task).nodes[0] for name, task in singles.items()}
    assert set(places.values()) == set(world.nodes)
    dead = places["lost-one"]

    machines.kill(dead)
    wait_for("the gang's run to be lost", lambda: gang_waits(platform, gang), SOON)
    (lost,) = the_task(platform, gang).runs
    assert lost.reason == "node_lost"
    assert [rank.state for rank in lost.ranks if rank.node == dead] == ["lost"]
    # The task that fits on the other node goes on there.
    platform.until_lines("lost-one", 2, "started")
    assert last_run(platform, singles["lost-one"]).nodes == (places["lost-other"],)
    waiting = the_task(platform, gang)
    assert waiting.verdict is not None
    assert waiting.verdict.sentence, waiting
    print(waiting.verdict.sentence)
    assert [node.ready for node in platform.client().nodes() if node.name == dead] == [False]

    machines.restore()
    world.open_gate("lost-one", "lost-other")
    # Started or resumed: the rank that was not on the dead node may have saved while it was ended.
    wait_for("the gang to go on", lambda: world.starts("lost-gang").total() == 4, SOON)
    world.open_gate("lost-gang")
    runs = {}
    for name, task in {"lost-gang": gang, **singles}.items():
        ended = platform.until(task, "succeeded")
        assert_started_once(platform, name, ended)
        runs[name] = len(ended.runs)
    assert runs == {"lost-gang": 2, "lost-one": 2, "lost-other": 1}
    wait_for("nothing to be left", lambda: not platform.pods(), SOON)


def the_task(platform: PodPlatform, number: int) -> Task:
    return platform.client().task(number)


def last_run(platform: PodPlatform, number: int) -> Run:
    return the_task(platform, number).runs[-1]


def gang_waits(platform: PodPlatform, number: int) -> Any:
    return platform.state_of(number) == "suspended"
