"""Turns the options of `hai sim` into jobs, clusters and rules."""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from hai_client.durations import format_duration
from hai_client.errors import Invalid
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.ordering.discipline import Discipline
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import nodes as count_of
from hai_scheduler.service.shared.policy_numbers import changed
from hai_scheduler.sim.failures import FIREFLYER_RATE, FailureModel
from hai_scheduler.sim.formats import FORMATS
from hai_scheduler.sim.formats.trace import Trace, TraceReading, jobs_of
from hai_scheduler.sim.scenario import Manner, Setting, SimulatedJob, cluster_of
from hai_scheduler.sim_cli.options import DISCIPLINES, assignment


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A trace on a cluster, ready to be simulated under any rules."""

    trace: Trace
    jobs: tuple[SimulatedJob, ...]
    #: The setting without the rules.
    setting: Setting
    #: Sentences on the assumptions.
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamedDiscipline:
    """A discipline and its policy, under the name that the user gave them."""

    name: str
    discipline: Discipline
    policy: Policy

    def on(self, setting: Setting) -> Setting:
        """Return the setting with these rules."""
        return replace(setting, discipline=self.discipline, policies=self.policy)


def study_of(args: argparse.Namespace) -> Study:
    """Read the trace and make the jobs and the cluster, as the options say. Raises TraceError."""
    reading = TraceReading(
        gpus_per_node=args.gpus_per_node,
        seed=args.seed,
        users_per_group=args.users,
        begin=args.begin,
        end=args.end,
        only=frozenset(args.vc),
        group=args.group,
    )
    trace = FORMATS[args.format](args.file, reading)
    group = trace.jobs[0].group
    nodes = cluster_of(
        args.nodes, gpus=args.gpus_per_node, leaf_size=args.leaf_size, zone_size=args.zone_size, group=group
    )
    jobs, left_out = jobs_of(trace, nodes, skip_too_large=args.skip_too_large)
    if args.saves_every is not None:
        jobs = [job if job.saves_every else replace(job, saves_every=args.saves_every) for job in jobs]
    if args.neither:
        chance = random.Random(f"{args.seed}/manner")  # noqa: S311  # nothing secret
        drawn = [(job, chance.random() < args.neither) for job in jobs]
        jobs = [
            replace(job, manner=Manner.NEITHER) if deaf and job.manner is Manner.CATCHES else job for job, deaf in drawn
        ]
    failures = None
    if args.fail is not None:
        failures = FailureModel(rate=FIREFLYER_RATE * args.fail_scale, repair=args.repair, seed=args.seed)
    setting = Setting(
        nodes=nodes,
        quotas=trace.quotas,
        groups_of=trace.groups_of,
        restart_cost=args.restart_cost,
        tick=args.tick,
        failures=failures,
    )
    return Study(
        trace=trace,
        jobs=tuple(jobs),
        setting=setting,
        assumptions=(*trace.notes, *left_out, *_assumptions(args, trace, failures)),
    )


def rules_of(entry: str, numbers: Sequence[tuple[str, str]]) -> NamedDiscipline:
    """Return the rules of `NAME` or `NAME/NUMBER=VALUE/...`, with the numbers of `--set`.

    Raises:
        Invalid: No discipline has that name.
        PolicyError: A number is unknown or out of its range.
    """
    name, *own = entry.strip().split("/")
    if name not in DISCIPLINES:
        raise Invalid(f"policy: {name!r} is unknown; use one of {', '.join(DISCIPLINES)}")
    changes: Mapping[str, object] = dict([*numbers, *(assignment(text) for text in own)])
    return NamedDiscipline(entry.strip(), Discipline(name), changed(Policy(), changes))


def _length(length: timedelta) -> str:
    return format_duration(length.total_seconds())


def _assumptions(args: argparse.Namespace, trace: Trace, failures: FailureModel | None) -> list[str]:
    saves = "never" if args.saves_every is None else f"every {_length(args.saves_every)}"
    cost, first = _length(args.restart_cost), trace.jobs[0].submitted_at
    said = [
        f"{count_of(ENGLISH, args.nodes)} with {args.gpus_per_node} GPUs each",
        f"the first job is submitted at {first:%Y-%m-%d %H:%M} UTC",
        f"a start after the first costs {cost}",
        f"a job that is told to leave has saved all of its work when it leaves; by itself it saves {saves}",
    ]
    if args.neither:
        said.append(
            f"{args.neither * 100:g} % of the jobs neither catch a signal nor poll: told to leave, they go on"
            " until they have saved by themselves, or patience is over"
        )
    if args.numbers:
        said.append(f"policy numbers that are not the defaults: {', '.join('='.join(pair) for pair in args.numbers)}")
    if trace.quotas is None:
        said.append("all users have unlimited quota")
    if failures is not None:
        scale = "" if args.fail_scale == 1 else f", times {args.fail_scale:g}"
        said.append(
            f"a node fails {failures.rate * 365:.2f} times a year (Fire-Flyer: arXiv 2408.14158, table VII{scale}) "
            f"and is back after {_length(args.repair)}"
        )
    return said
