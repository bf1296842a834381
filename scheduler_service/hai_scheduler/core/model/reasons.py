"""Why a run or a task ended."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a run ended, or was told to leave."""

    #: Every rank exited with 0.
    SUCCEEDED = "succeeded"
    #: A rank exited with another status: a failure of the user's command (H2).
    FAILED = "failed"
    #: The task ran longer than its time limit.
    TIME_LIMIT = "time_limit"
    #: A task of higher priority needs the nodes (P1).
    PREEMPTED = "preempted"
    #: The turn is over and an equal waits (P2).
    TURN_OVER = "turn_over"
    #: A node of the run is being drained.
    DRAINED = "drained"
    #: The cluster took a node of the run away: the node is drained there, or its pods are evicted.
    EVICTED = "evicted"
    #: The platform is being paused or stopped.
    PAUSED = "paused"
    #: The owner of the task, or an admin, suspended it.
    USER_SUSPENDED = "user_suspended"
    #: The owner of the task, or an admin, stopped it.
    USER_STOPPED = "user_stopped"
    #: An admin archived the owner of the task.
    OWNER_ARCHIVED = "owner_archived"
    #: The job gave its nodes back by itself.
    YIELDED = "yielded"
    #: All GPUs of the run were idle while others waited (I1).
    GPUS_IDLE = "gpus_idle"
    #: A node of the run, or the supervisor on that node, was lost (H1).
    NODE_LOST = "node_lost"
    #: The supervisor of a rank was killed on a healthy node: by its own task, as far as can be told (H4).
    SUPERVISOR_KILLED = "supervisor_killed"
    #: The database was restored and is older than the run: a notice to the run, or its end, is in the lost history.
    RESTORED = "restored"
    #: The ranks could not be started, for a reason that is not the user's.
    START_FAILED = "start_failed"

    @property
    def infrastructure(self) -> bool:
        """Whether the platform, not the user or the scheduler, is to blame."""
        return self in (Reason.NODE_LOST, Reason.RESTORED, Reason.START_FAILED)

    @property
    def unplanned(self) -> bool:
        """Whether the run broke: it ended neither by a decision nor because its command ended."""
        return self.infrastructure or self is Reason.SUPERVISOR_KILLED
