"""What a user has had of a node group, and what the user's weight entitles to: the numbers behind rule O3."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.nodes.node_group import NodeGroup
from hai_scheduler.core.ordering.fair_share import FairShare
from hai_scheduler.core.ordering.turns import facts_of, turn_at


@dataclass(frozen=True, slots=True, kw_only=True)
class UserShare:
    """The share of a user among all users who have tasks in a node group that run or wait for a turn."""

    user: str
    node_group: str
    #: The part of the decayed use of all of them that is the user's, 0 to 1; None: none of them has used the group
    #: lately.
    given: float | None
    #: The user's weight, and the sum of the weights of all of them.
    weight: float
    weights: float
    #: How many of the others have had less for their weight: among equals of one level their tasks go first.
    users_before: int

    @property
    def entitled(self) -> float:
        """The part that the weights give to the user, 0 to 1."""
        return self.weight / self.weights


def user_share(snapshot: Snapshot, policy: Policy, task: Task) -> UserShare:
    """Return the share of the task's user in the task's node group, with the numbers that order the queue (O3)."""
    group, now = task.group, snapshot.now
    there = [each for each in snapshot.tasks if each.group == group]
    node_group = NodeGroup(node for node in snapshot.nodes if node.group == group)
    turns = [turn_at(facts_of(each, run, policy, node_group), now) for each in there if (run := each.live_run)]
    use = FairShare((use for use in snapshot.uses if use.group == group), turns, policy, now)
    users = {task.user, *(each.user for each in there if each.live_run is not None or not each.held)}
    weights = {user: policy.weights.get(user, 1.0) for user in users}
    # What counts in the queue is divided by weights; what a user has had is not.
    had = {user: use.of(user) * weight for user, weight in weights.items()}
    total, mine = sum(had.values()), use.of(task.user)
    return UserShare(
        user=task.user,
        node_group=group,
        # Below a node-second the rest of long decayed use would look like a share.
        given=had[task.user] / total if total >= 1 else None,
        weight=weights[task.user],
        weights=sum(weights.values()),
        users_before=sum(use.of(user) < mine for user in users - {task.user}),
    )
