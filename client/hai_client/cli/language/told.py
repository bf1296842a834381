"""What a task does, what would let it start, and what was decided, in the user's language.

As the panel says it (`lab_extension/src/text/changes.ts` and `messages.ts`): in English the service's sentence, in
other languages one of the data, and the service's again where the data do not suffice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hai_client.backports import UTC
from hai_client.cli.language.catalogue import is_english, say, sentences
from hai_client.cli.language.verdicts import VerdictFacts, of_facts, quota_of, who
from hai_client.cli.language.words import (
    amount,
    duration,
    ended,
    gpus,
    listed,
    moment,
    node_list,
    nodes,
    reason,
    when,
)
from hai_client.cli.shared.output import local_times
from hai_client.constants import EventKind
from hai_client.wire.explain import Decision, GroupShare, WhatIf
from hai_client.wire.schema import TaskSummary

#: Status codes and the like, as the service lists them at the end of its sentence.
_MORE = re.compile(r"\((.*)\)\.$")
#: Tasks that are named at most.
_NAMED = 3


def message(task: TaskSummary) -> str:
    """Return what a task that does not wait does now, or why it has ended."""
    now = datetime.now(UTC)
    said = None if is_english() else _message(task, now)
    return local_times(task.message, now=now) if said is None else said


def _message(task: TaskSummary, now: datetime) -> str | None:
    if (state := ended(task.state)) is not None:
        if task.reason is None:
            return None
        more = _MORE.search(task.message)
        why = reason(task.reason)
        return say("%1: %2.", state, why) if more is None else say("%1: %2 (%3).", state, why, more[1])
    # Why it does not start is told by the cluster, in its words.
    if not task.node_names or " waits: " in task.message:
        return None
    there = node_list(task.node_names)
    if task.deadline is not None:
        left = duration((task.deadline - now).total_seconds())
        if task.reason is None:
            return say("Leaving %1; %2 left to save.", there, left)
        return say("Leaving %1: %2; %3 left to save.", there, reason(task.reason), left)
    if task.state == "starting":
        return say("Starting on %1.", there)
    if task.state == "running" and task.running_since is not None:
        return say("Running on %1 since %2.", there, moment(task.running_since, now))
    return None


def change(found: WhatIf, task: TaskSummary | None) -> str:
    """Return what would happen to a task with a change.

    Args:
        found: The change.
        task: The task; None: not known here.
    """
    now = datetime.now(UTC)
    condition = CHANGES.get(found.kind)
    if is_english() or condition is None or task is None:
        return local_times(found.sentence, now=now)
    return say("%1: %2.", condition(found, task), _effect(found, now))


#: By the kind of a change: the condition.
CHANGES: Mapping[str, Callable[[WhatIf, TaskSummary], str]] = {
    "PRIORITY": lambda found, _: say("At %1", found.priority),
    "NODES": lambda found, task: say("With %1 instead of %2", nodes(found.nodes or 0), task.nodes),
    "GPUS": lambda found, task: say("With %1 of each node instead of %2", gpus(found.gpus or 0), task.gpus),
    "LIMIT": lambda found, _: say(
        "If %1 were %2 at %3", quota_of(found.subject), nodes(found.limit or 0), found.priority
    ),
}


def _effect(found: WhatIf, now: datetime) -> str:
    if found.starts_now:
        return say("it would start now")
    by = when(found.starts_by, now)
    them = who(found.suspends)
    if not them:
        if by is None:
            return say("it would start when nodes that are being freed are free")
        return say("it would start when nodes that are being freed are free, by %1 at the latest", by)
    if by is None:
        return say("it would have %1 suspended and start when they have saved", them)
    return say("it would have %1 suspended and start when they have saved, by %2 at the latest", them, by)


def share(found: GroupShare) -> str:
    """Return what a user has had of a node group, and what follows from it."""
    if is_english():
        return found.sentence
    if found.given is None:
        return say(
            "No user with tasks in node group %1 has used it lately, so shares do not decide who goes first.",
            found.node_group,
        )
    before = "Users who have had less for their weight: %1; of tasks of equal priority and level theirs go first."
    return sentences(
        say(
            "%1 has had %2 of the recent use of node group %3 and is entitled to %4 (weight %5 of %6).",
            found.user,
            _percent(found.given),
            found.node_group,
            _percent(found.entitled),
            amount(found.weight),
            amount(found.weights),
        ),
        say(before, found.users_before)
        if found.users_before
        else say("No other user with tasks there has had less for their weight."),
    )


def _percent(part: float) -> str:
    return f"{part * 100:.{1 if 0 < part < 0.01 else 0}f} %"


def decision(found: Decision) -> str:
    """Return a decision on a task as a sentence."""
    said = None if is_english() else _decision(found)
    return local_times(found.sentence, now=found.at) if said is None else said


def _decision(found: Decision) -> str | None:
    data: Mapping[str, Any] = found.data
    if found.kind == EventKind.TASK_VERDICT:
        ids = [say("task %1", one) for one in data.get("holders") or ()]
        them = listed(ids[:_NAMED], len(ids))
        return of_facts(
            VerdictFacts(str(data.get("kind")), data.get("priority"), data.get("data") or {}, them, found.at)
        )
    if found.kind == EventKind.TASK_HELD:
        return say("Held by %1.", found.actor) if data.get("held") else say("Released by %1.", found.actor)
    if found.kind == EventKind.TASK_PRIORITY:
        return say("Given the priority %1 by %2.", data.get("priority"), found.actor)
    if found.kind == EventKind.TASK_ORDER:
        return say("Moved among the waiting tasks of its owner by %1.", found.actor)
    if found.kind == EventKind.TASK_STATE and data.get("to") == "starting" and data.get("nodes"):
        return say("Run %1 starts on %2.", data.get("run"), node_list([str(one) for one in data["nodes"]]))
    return None
