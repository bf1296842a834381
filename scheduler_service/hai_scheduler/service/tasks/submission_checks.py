"""What a submission must be like, before quota and the store are asked: fields, files, and what the cluster has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hai_client.pythons import VENV, chosen
from hai_client.rank.starting.environment import PRIVATE_PREFIXES
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.core.workspace.environments import VARIABLE, Environment
from hai_scheduler.ports.files import Files
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import gang, nodes
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid, QuotaExceeded, Unavailable
from hai_scheduler.service.shared.known_names import unknown_group
from hai_scheduler.service.shared.lookup import check_name, check_tags
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.rank_env import PLATFORM_VARIABLES
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs
from hai_scheduler.service.workspace.secrets import check_places


class SubmissionChecks(UseCase):
    """The checks of a submission by policy, nodes and files; nothing is stored, and nothing of the store is read."""

    def check(self, submission: Submission) -> int | None:
        """Return the GPUs of each node that a checked submission takes; None for whole nodes. Raises Invalid."""
        check_shape(submission)
        longest = self.policies.of(submission.group).max_grace
        if submission.grace is not None and not timedelta(0) <= submission.grace <= longest:
            raise Invalid(
                "grace_s",
                submission.grace.total_seconds(),
                f"a task may have between 0 and {longest.total_seconds():.0f} seconds to save",
            )
        _check_signal(submission, self.grace(submission))
        return gpus_to_ask_for(self.latest_plan.nodes, submission.group, submission.nodes, submission.gpus)

    async def check_files(self, submission: Submission, environment: Environment | None) -> None:
        """Check that ranks can find the files of a submission, where that can be known. Raises Invalid."""
        if self.world.files is None:
            return
        python = None if environment is None else environment.python
        fault = await self.world.files.fault(
            submission.command,
            submission.cwd,
            submission.checkpoint_dir,
            python,
            chosen(submission.env),
        )
        if fault is not None:
            raise Invalid(fault.field, fault.value, fault.message)

    def grace(self, submission: Submission) -> timedelta:
        """Return how long the task has to save after a notice."""
        default = self.policies.of(submission.group).default_grace
        return default if submission.grace is None else submission.grace


def check_shape(submission: Submission) -> None:
    """Check what the types of a submission's fields do not say. Raises Invalid."""
    check_name(submission.name)
    check_tags(submission.tags)
    if not submission.command or not submission.command[0]:
        raise Invalid("command", list(submission.command), "give the program to run and its arguments")
    for field_name, path in (("cwd", submission.cwd), ("checkpoint_dir", submission.checkpoint_dir)):
        if path is not None and not path.startswith("/"):
            raise Invalid(field_name, path, "give an absolute path")
    if submission.signal is not None and submission.profile in (Profile.COOPERATIVE, Profile.KILL):
        raise Invalid(
            "signal",
            str(submission.signal),
            f"the profile {submission.profile} sends none: use auto, sigterm or slurm with it",
        )
    for name in submission.env:
        _check_variable(name, "env")
    for ref in submission.secrets:
        if ref.variable is not None:
            _check_variable(ref.variable, "secrets")
            _check_not_ours(ref)
    check_places(submission.secrets, submission.env)
    _check_retry(submission)


def _check_signal(submission: Submission, grace: timedelta) -> None:
    """Raise Invalid if the signal would be sent before the notice."""
    signal = submission.signal
    if signal is not None and signal.before is not None and signal.before > grace:
        raise Invalid(
            "signal",
            str(signal),
            f"the task has {grace.total_seconds():g} seconds to save: send the signal at most that long before the"
            " deadline, or give it a longer grace",
        )


def _check_variable(name: str, field: str) -> None:
    if not VARIABLE.fullmatch(name):
        raise Invalid(
            field, name, f"{name!r} is not a variable name: use letters, digits and '_', not beginning with a digit"
        )
    if name in PLATFORM_VARIABLES:
        raise Invalid(field, name, f"{name} is set by the platform for every rank: leave it out")


def _check_not_ours(ref: SecretRef) -> None:
    """Raise Invalid for a variable that the platform reads before a rank starts, or that no rank gets."""
    if (ref.variable or "").startswith(("HAI_", *PRIVATE_PREFIXES)):
        raise Invalid("secrets", str(ref), f"{ref.variable} is a variable of the platform: take another one")


def _check_retry(submission: Submission) -> None:
    if submission.retries:
        return
    without = {
        "retry_backoff_s": submission.retry_backoff.total_seconds(),
        "retry_exit_codes": list(submission.retry_exit_codes),
    }
    for name, value in without.items():
        if value:
            raise Invalid(name, value, "says how to retry, but retries is 0: set retries to 1 or more, or leave it out")


def gpus_to_ask_for(known: Sequence[Node], group: str, count: int, gpus: int | None) -> int | None:
    """The GPUs of each node for a task that asks for `gpus` on each of `count` nodes; None is whole nodes.

    If every node of the group has exactly `gpus` GPUs, the task takes whole nodes.

    Raises:
        Unavailable: No node has been seen yet.
        Invalid: There is no such group, or none of its nodes has that many GPUs.
        QuotaExceeded: The group has fewer than `count` such nodes.
    """
    if not known:
        raise Unavailable("The scheduler has not seen the nodes yet: try again in a few seconds.")
    sizes = [node.gpus for node in known if node.group == group]
    if not sizes:
        raise unknown_group(group, {node.group for node in known})
    if gpus is not None:
        _check_gpus(group, max(sizes), gpus)
    fitting = len(sizes) if gpus is None else sum(size >= gpus for size in sizes)
    if count > fitting:
        asked = gang(ENGLISH, count, gpus)
        has = str(fitting) if gpus is None else f"{nodes(ENGLISH, fitting)} with as many GPUs"
        raise QuotaExceeded(
            f"nodes: {asked} will never be free together, for group {group!r} has {has}: ask for {fitting} or fewer."
        )
    return None if all(size == gpus for size in sizes) else gpus


def _check_gpus(group: str, most: int, gpus: int) -> None:
    if gpus < 1:
        raise Invalid("gpus", gpus, f"{gpus} is too few: ask for at least 1 GPU of each node, or leave it out")
    if most == 0:
        raise Invalid("gpus", gpus, f"the nodes of group {group!r} have no GPUs: leave it out and take whole nodes")
    if gpus > most == 1:
        raise Invalid(
            "gpus", gpus, f"no node of group {group!r} has more than 1 GPU: leave it out, and ask for more nodes"
        )
    if gpus > most:
        raise Invalid(
            "gpus",
            gpus,
            f"{gpus} is more than any node of group {group!r} has: ask for {most} or fewer of each node,"
            " and for more nodes if need be",
        )


async def warnings_of(
    runtime_envs: RuntimeEnvs, files: Files | None, caller: Caller, submission: Submission, pin: Pin | None
) -> list[str]:
    """Warnings if the ranks will not see the Python of the task; else, or if that is unknown, empty.

    Args:
        runtime_envs: The mounts of users.
        files: What ranks see.
        caller: The user.
        submission: The task, which may bring the user's own venv or conda environment.
        pin: The generation of an environment of haienv that it runs with; None: none.
    """
    haienvs = runtime_envs.pinning.haienvs
    given = haienvs.prefix(pin) if pin is not None and haienvs is not None else submission.env.get(VENV)
    if not given or files is None:
        return []
    folder = given if pin is not None else chosen(submission.env)
    if folder is None:
        return [f"env.{VENV}: {given!r} is not the absolute path of a folder, so it is not used"]
    try:
        view = await runtime_envs.container_view(caller.name, caller.groups or None, submission.group)
    except Invalid:
        # A mount rule cannot be resolved for this user: the start of the task will report that.
        return []
    mounts = tuple(placed.mount for placed in view.resolution.placed)
    why = await files.unseen(folder, mounts)
    field = f"env.{VENV}" if pin is None else "environment"
    return [] if why is None else [f"{field}: {why}"]
