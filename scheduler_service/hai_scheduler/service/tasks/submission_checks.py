"""What a submission must be like, before quota and the store are asked."""

from __future__ import annotations

from datetime import timedelta

from hai_client.pythons import chosen
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.workspace.environments import VARIABLE, Environment
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.lookup import check_name, check_tags
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tasks.feasibility import gpus_to_ask_for
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.rank_env import PLATFORM_VARIABLES


class SubmissionChecks(UseCase):
    """The checks of a submission by policy, nodes and files; nothing is stored, and nothing of the store is read."""

    def check(self, submission: Submission) -> int | None:
        """Return the GPUs of each node that a checked submission takes; None for whole nodes. Raises Invalid."""
        self._check_alone(submission)
        return gpus_to_ask_for(self.latest_plan.nodes, submission.group, submission.nodes, submission.gpus)

    def _check_alone(self, submission: Submission) -> None:
        check_shape(submission)
        longest = self.policies.of(submission.group).max_grace
        if submission.grace is not None and not timedelta(0) <= submission.grace <= longest:
            raise Invalid(
                "grace_s",
                submission.grace.total_seconds(),
                f"a task may have between 0 and {longest.total_seconds():.0f} seconds to save",
            )

        _check_signal(submission, self.grace(submission))

    async def check_files(self, caller: Caller, submission: Submission, environment: Environment | None) -> None:
        """Check that ranks can find the files of a submission, where that can be known. Raises Invalid."""
        if self.world.files is None:
            return
        python = None if environment is None else environment.python
        fault = await self.world.files.fault(
            submission.command,
            submission.cwd,
            submission.checkpoint_dir,
            python,
            caller.name,
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
    _check_profile(submission)
    for name in submission.env:
        _check_variable(name)
    _check_retry(submission)


def _check_profile(submission: Submission) -> None:
    """Raise Invalid if the profile sends no signal but the submission names one."""
    if submission.signal is not None and submission.profile in (Profile.COOPERATIVE, Profile.KILL):
        raise Invalid(
            "signal",
            str(submission.signal),
            f"the profile {submission.profile} sends none: use auto, sigterm or slurm with it",
        )


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


def _check_variable(name: str) -> None:
    if not VARIABLE.fullmatch(name):
        raise Invalid(
            "env", name, f"{name!r} is not a variable name: use letters, digits and '_', not beginning with a digit"
        )
    if name in PLATFORM_VARIABLES:
        raise Invalid("env", name, f"{name} is set by the platform for every rank: leave it out")


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
