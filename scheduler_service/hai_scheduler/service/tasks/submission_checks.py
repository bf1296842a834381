"""What a submission must be like, before quota and the store are asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from hai_client.rank.pythons import chosen
from hai_scheduler.core.model.leaving import Profile
from hai_scheduler.core.model.limits import MAX_RANKS_PER_NODE, MAX_RETRIES
from hai_scheduler.core.model.task import Retry
from hai_scheduler.core.workspace.environments import VARIABLE, Environment
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.shared.lookup import check_name, check_tags
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.service.tasks.feasibility import gpus_to_ask_for
from hai_scheduler.service.tasks.submission import Submission
from hai_scheduler.service.workspace.rank_env import PLATFORM_VARIABLES

#: The most characters of a watched path, and the most paths.
_LONGEST_PATH: Final = 4096
_MOST_WATCHED: Final = 20


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
    """Check the fields of a submission by themselves. Raises Invalid."""
    check_name(submission.name)
    check_tags(submission.tags)
    if not submission.command or not submission.command[0]:
        raise Invalid("command", list(submission.command), "give the program to run and its arguments")
    for word in (*submission.command, submission.cwd, *submission.env.values()):
        if "\0" in word:
            raise Invalid("command", word[:40], "a NUL character cannot be part of a command or of its environment")
    for field_name, path in (("cwd", submission.cwd), ("checkpoint_dir", submission.checkpoint_dir)):
        if path is not None and not path.startswith("/"):
            raise Invalid(field_name, path, "give an absolute path")
    _check_watch(submission)
    _check_profile(submission)
    for name in submission.env:
        _check_variable(name)
    if submission.nodes < 1:
        raise Invalid("nodes", submission.nodes, f"{submission.nodes} is too few: a task takes at least 1 node")
    _check_retry(submission.retry)
    each = submission.ranks_per_node
    if each is not None and each != "gpu" and not 1 <= each <= MAX_RANKS_PER_NODE:
        raise Invalid(
            "ranks_per_node", each, f"a command may run 1 to {MAX_RANKS_PER_NODE} times on a node, or once a 'gpu'"
        )


def _check_watch(submission: Submission) -> None:
    for path in submission.watch:
        if not path or "\0" in path or len(path) > _LONGEST_PATH:
            raise Invalid("watch", path[:40], f"give a path of 1 to {_LONGEST_PATH} characters, absolute or below cwd")
    if len(submission.watch) > _MOST_WATCHED:
        raise Invalid("watch", len(submission.watch), f"name at most {_MOST_WATCHED} paths: a folder counts as one")


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


def _check_retry(retry: Retry | None) -> None:
    if retry is None:
        return
    if not 1 <= retry.count <= MAX_RETRIES:
        raise Invalid("retries", retry.count, f"a task may be started again between 1 and {MAX_RETRIES} times")
    if retry.backoff < timedelta(0):
        raise Invalid("retry_backoff_s", retry.backoff.total_seconds(), "give 0 or more seconds")
    for code in sorted(retry.exit_codes):
        if not 1 <= code <= 255:
            raise Invalid("retry_exit_codes", code, "an exit status of a failure is between 1 and 255")
