"""What a submission must be like, before quota and the store are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.ports.files import PathFault
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.tasks.submission_checks import SubmissionChecks, check_shape
from hai_scheduler.service.workspace.snapshot_ref import SnapshotRef
from kit.builders import an_environment
from unit.service.service_world import Service, user

GOOD = Submission(name="t", command=("python", "train.py"), cwd="/home/ann", nodes=1, priority=Priority.NORMAL)
USR1_AT_60 = Signal.parse("USR1@60")


def a_submission(**fields: Any) -> Submission:
    return replace(GOOD, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"command": ("true",), "cwd": "/"},
        {"checkpoint_dir": "/ckpt"},
        {"env": {"A": "", "_b9": "x=y"}},
        {"retries": 1, "retry_backoff": timedelta(seconds=1), "retry_exit_codes": (1, 255)},
        *({"profile": profile, "signal": USR1_AT_60} for profile in (Profile.AUTO, Profile.SIGTERM, Profile.SLURM)),
        *({"profile": profile} for profile in Profile),
    ],
    ids=lambda fields: str(fields)[:50],
)
def test_what_is_right_by_itself(fields: dict[str, Any]) -> None:
    check_shape(a_submission(**fields))


#: the field that is wrong, the change, a part of the remedy
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("name", {"name": ""}, ""),
    ("command", {"command": ()}, "give the program to run"),
    ("command", {"command": ("", "x")}, "give the program to run"),
    ("cwd", {"cwd": "here"}, "absolute path"),
    ("cwd", {"cwd": ""}, "absolute path"),
    ("checkpoint_dir", {"checkpoint_dir": "ckpt"}, "absolute path"),
    ("signal", {"profile": Profile.COOPERATIVE, "signal": USR1_AT_60}, "use auto, sigterm or slurm"),
    ("signal", {"profile": Profile.KILL, "signal": USR1_AT_60}, "use auto, sigterm or slurm"),
    ("env", {"env": {"9A": ""}}, "not beginning with a digit"),
    ("env", {"env": {"A-B": ""}}, "letters, digits and '_'"),
    ("env", {"env": {"": ""}}, "letters, digits and '_'"),
    ("env", {"env": {"HAI_TASK_ID": "1"}}, "is set by the platform"),
    # With it a task could write environments of others.
    ("env", {"env": {"HAI_BUILD": "install base/torch"}}, "is set by the platform"),
    ("retry_backoff_s", {"retry_backoff": timedelta(seconds=1)}, "set retries to 1 or more"),
    ("retry_exit_codes", {"retry_exit_codes": (1,)}, "set retries to 1 or more"),
]


@pytest.mark.parametrize(("field", "change", "remedy"), WRONG, ids=lambda value: str(value)[:40])
def test_what_is_wrong_is_named_with_a_remedy(field: str, change: dict[str, Any], remedy: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_shape(a_submission(**change))
    assert refused.value.field == field
    assert remedy in refused.value.message


# -- by policy, nodes and files --------------------------------------------------------------------


@pytest.fixture
async def service() -> Service:
    """A service with four nodes of 8 GPUs. Tasks of the group `big` have two minutes to save."""
    short = Policy(default_grace=timedelta(seconds=20), max_grace=timedelta(seconds=60), patience=timedelta(seconds=10))
    long = replace(short, default_grace=timedelta(seconds=120), max_grace=timedelta(seconds=120))
    return await Service(policy=Policies(default=short, groups={"big": long})).open()


def checks_of(service: Service, files: Any = None) -> SubmissionChecks:
    return SubmissionChecks(replace(service.platform.world, files=files))


@pytest.mark.parametrize(
    ("gpus", "takes"), [(None, None), (8, None), (3, 3)], ids=["whole nodes", "all GPUs", "a part"]
)
async def test_the_nodes_of_the_latest_tick_say_what_a_task_takes(
    service: Service, gpus: int | None, takes: int | None
) -> None:
    assert checks_of(service).check(a_submission(gpus=gpus)) == takes


@pytest.mark.parametrize(("grace", "right"), [(0, True), (60, True), (60.5, False), (-1, False), (None, True)])
async def test_a_grace_is_bounded_by_the_policy_of_the_group(
    service: Service, grace: float | None, right: bool
) -> None:
    made = a_submission(grace=None if grace is None else timedelta(seconds=grace))
    if right:
        checks_of(service).check(made)
        return
    with pytest.raises(Invalid, match="between 0 and 60 seconds to save") as refused:
        checks_of(service).check(made)
    assert (refused.value.field, refused.value.value) == ("grace_s", grace)


async def test_without_a_grace_of_its_own_a_task_has_that_of_its_group(service: Service) -> None:
    checks = checks_of(service)
    assert checks.grace(GOOD) == timedelta(seconds=20)
    assert checks.grace(a_submission(group="big")) == timedelta(seconds=120)
    assert checks.grace(a_submission(grace=timedelta(0))) == timedelta(0)


@pytest.mark.parametrize(
    ("signal", "grace", "right"),
    [
        ("USR1@20", None, True),
        ("USR1@21", None, False),
        ("USR1@21", 21, True),
        ("USR1", 0, True),
        ("USR1@1", 0, False),
    ],
)
async def test_a_signal_is_sent_within_the_grace(
    service: Service, signal: str, grace: float | None, right: bool
) -> None:
    made = a_submission(signal=Signal.parse(signal), grace=None if grace is None else timedelta(seconds=grace))
    if right:
        checks_of(service).check(made)
        return
    with pytest.raises(Invalid, match="send the signal at most that long before the deadline") as refused:
        checks_of(service).check(made)
    assert (refused.value.field, refused.value.value) == ("signal", signal)


@dataclass
class SomeFiles:
    """The files of ranks: one fault or none, and what was asked about."""

    answer: PathFault | None = None
    asked: tuple[object, ...] = ()

    async def fault(self, *asked: object) -> PathFault | None:
        self.asked = asked
        return self.answer


async def test_files_are_looked_for_as_ranks_will_see_them(service: Service) -> None:
    files = SomeFiles()
    made = a_submission(checkpoint_dir="/ckpt", env={"HAI_VENV": "/venvs/a"})
    await checks_of(service, files).check_files(made, an_environment(python="/opt/python"))
    assert files.asked == (made.command, "/home/ann", "/ckpt", "/opt/python", "/venvs/a")
    await checks_of(service, files).check_files(GOOD, None)
    assert files.asked == (GOOD.command, "/home/ann", None, None, None)


async def test_a_file_that_ranks_cannot_find_is_refused_by_the_field_that_names_it(service: Service) -> None:
    files = SomeFiles(PathFault(field="cwd", value="/home/ann", message="there is no such folder"))
    with pytest.raises(Invalid, match="there is no such folder") as refused:
        await checks_of(service, files).check_files(GOOD, None)
    assert (refused.value.field, refused.value.value) == ("cwd", "/home/ann")


async def test_a_process_without_the_files_of_ranks_refuses_nothing(service: Service) -> None:
    await checks_of(service).check_files(a_submission(cwd="/nowhere"), None)


class NoScript:
    """The files of a machine where a script is in no folder."""

    async def fault(self, command: Sequence[str], cwd: str, *_: object) -> PathFault:
        return PathFault(field="command", value=command[1], message=f"there is no file {command[1]!r} in {cwd!r}")


class Stored:
    """Snapshots that lie in a folder of the platform."""

    async def place(self, *_: object) -> str:
        return "/state/snapshots/trees/1/code"


async def test_a_file_that_a_snapshot_lacks_is_named_by_the_folder_of_its_user(service: Service) -> None:
    ours = service.platform.tasks.submissions
    service.platform.workspace.code = cast("Any", Stored())
    submissions = replace(ours, world=replace(ours.world, files=cast("Any", NoScript())))
    made = a_submission(snapshot=SnapshotRef(digest="1" * 64))
    with pytest.raises(Invalid) as refused:
        await submissions.rehearse(user("ann"), made)
    assert str(refused.value) == "command: there is no file 'train.py' in the snapshot of '/home/ann'"
