"""`hai sim plan`."""

from __future__ import annotations

import argparse

from hai_client.cli.shared.context import Context
from hai_scheduler.core.model.decisions import Decision, Keep, Quarantine, Start, Stop, Suspend
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.core.planning.plan import plan
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.verdicts import why
from hai_scheduler.sentences.words import because, node_names
from hai_scheduler.service.shared.policy_numbers import changed
from hai_scheduler.sim.plain import encode
from hai_scheduler.sim.snapshots import Recorded, read


def run(args: argparse.Namespace, context: Context) -> int:
    """Make one plan, and print its decisions and why all other tasks wait. Returns the exit status."""
    recorded = read(args.file)
    snapshot = recorded.snapshot
    discipline = recorded.discipline if args.policy is None else Discipline(args.policy)
    made = plan(snapshot, _policies(recorded, args), discipline)
    waits = [(task, made.verdicts[task.id]) for task in snapshot.tasks if task.id in made.verdicts]
    waits.sort(key=lambda wait: (wait[0].group, wait[1].position or 0, wait[0].id))
    if context.json:
        context.out.json(
            {
                "decisions": [{"kind": type(one).__name__.lower(), **encode(one)} for one in made.decisions],
                "waiting": [
                    {"task_id": task.id, "sentence": why(ENGLISH, verdict, snapshot.now), "verdict": encode(verdict)}
                    for task, verdict in waits
                ],
                "look_again": encode(made.look_again),
            }
        )
        return 0
    context.out.line(f"At {snapshot.now:%Y-%m-%d %H:%M:%S} UTC, by {discipline.value}:")
    for decision in made.decisions:
        context.out.line(f"  {_sentence(decision)}")
    if not made.decisions:
        context.out.line("  Nothing is to be done.")
    for task, verdict in waits:
        context.out.line(f"  Task {task.id} of {task.user} waits: {why(ENGLISH, verdict, snapshot.now)}")
    if made.look_again is not None:
        context.out.line(f"Time alone may change this at {made.look_again:%Y-%m-%d %H:%M:%S} UTC.")
    return 0


def _policies(recorded: Recorded, args: argparse.Namespace) -> Policies:
    """Return the recorded policy numbers, with those of `--set` in every node group."""
    changes = dict(args.numbers)

    def with_changes(policy: Policy) -> Policy:
        return changed(policy, changes)

    groups = {group: with_changes(policy) for group, policy in recorded.policies.groups.items()}
    return Policies(default=with_changes(recorded.policies.default), groups=groups)


def _sentence(decision: Decision) -> str:
    match decision:
        case Start():
            return (
                f"Task {decision.task_id} starts at {decision.priority.name} on {node_names(ENGLISH, decision.nodes)}."
            )
        case Suspend():
            other = f", for task {decision.beneficiary}" if decision.beneficiary is not None else ""
            return f"Task {decision.task_id} is told to leave{other}: {because(ENGLISH, decision.reason)}."
        case Keep():
            return f"{node_names(ENGLISH, tuple(sorted(decision.nodes)))} are kept for task {decision.task_id}."
        case Stop():
            return f"Task {decision.task_id} is stopped: {because(ENGLISH, decision.reason)}."
        case Quarantine():
            return f"Node {decision.node} is put in quarantine: {len(decision.tasks)} tasks failed on it."
