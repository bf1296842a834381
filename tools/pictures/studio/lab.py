"""The laboratory of the pictures: its people, its nodes, and what they train."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.sim.scenario import SimulatedJob

GPUS: Final = 8
#: The node groups, with how many nodes they have, and how many of these share a leaf.
NODE_GROUPS: Final = {"training": (16, 8), "a100": (8, 8)}
#: The admin, who starts the platform.
ADMIN: Final = "ann"
#: The users, each with the user group.
PEOPLE: Final[Mapping[str, str]] = {
    "jonas": "speech",
    "lukas": "language",
    "mei": "language",
    "nadia": "biology",
    "priya": "robotics",
    "sofia": "vision",
    "tariq": "vision",
}
#: Who has left.
GONE: Final = "omar"
#: Who looks at pages, and whose metrics of the last hours are written.
LOOKER: Final = "mei"
#: A task of hers that runs.
WATCHED: Final = "llama-8b-pretrain"


@dataclass(frozen=True, slots=True)
class Work:
    """Something that a user trains again and again."""

    user: str
    #: `{n}` in it is a number that grows.
    name: str
    nodes: int
    #: How long it runs, hours in the mean.
    hours: float
    #: How often it is submitted, times a day.
    a_day: float
    priority: Priority = Priority.NORMAL
    gpus: int | None = None
    group: str = "training"
    tags: tuple[str, ...] = ()
    #: How many of ten fail half way.
    failing: int = 0


WORK: Final = (
    Work("mei", WATCHED, 4, 60, 0.4, Priority.HIGH, tags=("pretrain",)),
    Work("mei", "tokenizer-sweep-{n}", 1, 1.5, 6, tags=("sweep",)),
    Work("lukas", "sft-dialogue-{n}", 2, 5, 3.4, tags=("sft",)),
    Work("lukas", "reward-model-{n}", 4, 6, 1.3),
    Work("sofia", "vit-l-imagenet-{n}", 4, 9, 1.3, Priority.ABOVE_NORMAL, tags=("paper",)),
    Work("sofia", "detr-ablation-{n}", 1, 3, 5, tags=("ablation",), failing=2),
    Work("tariq", "diffusion-512-{n}", 4, 7, 1.8),
    Work("tariq", "vae-finetune-{n}", 1, 2, 3, Priority.LOW),
    Work("jonas", "whisper-small-{n}", 2, 4, 2.2),
    Work("jonas", "asr-eval-{n}", 1, 0.6, 5, gpus=2, failing=1),
    Work("priya", "grasp-rl-{n}", 1, 5, 4, gpus=4, tags=("rl",), failing=1),
    Work("nadia", "fold-multimer-{n}", 2, 8, 5.5, group="a100"),
    Work("nadia", "msa-embed-{n}", 1, 2, 6, group="a100", failing=1),
    Work("priya", "sim-to-real-{n}", 2, 5, 3.0, Priority.LOW, group="a100"),
    Work("omar", "pose-baseline-{n}", 1, 3, 0.5, Priority.LOW, group="a100"),
)
#: What was submitted last: by user, name, nodes, priority, and how many minutes before the end.
TODAY: Final = (
    (LOOKER, WATCHED, 4, Priority.HIGH, 260),
    ("sofia", "vit-l-imagenet-paper", 4, Priority.ABOVE_NORMAL, 215),
    ("lukas", "reward-model-final", 4, Priority.NORMAL, 190),
    ("tariq", "diffusion-512-ema", 4, Priority.NORMAL, 150),
    ("mei", "tokenizer-sweep-bpe64k", 1, Priority.NORMAL, 75),
    ("mei", "tokenizer-sweep-bpe96k", 1, Priority.NORMAL, 74),
    ("jonas", "whisper-small-noisy", 2, Priority.NORMAL, 66),
    ("lukas", "sft-dialogue-long", 2, Priority.NORMAL, 50),
    ("mei", "llama-8b-eval", 2, Priority.NORMAL, 35),
    ("priya", "grasp-rl-ablation", 2, Priority.NORMAL, 28),
    ("sofia", "detr-ablation-queries", 1, Priority.NORMAL, 20),
    ("tariq", "vae-finetune-faces", 1, Priority.LOW, 12),
    ("nadia", "fold-multimer-casp", 2, Priority.NORMAL, 240),
    ("nadia", "msa-embed-uniref", 1, Priority.NORMAL, 110),
    ("priya", "sim-to-real-kitchen", 2, Priority.LOW, 95),
)


def nodes() -> tuple[Node, ...]:
    """Return the nodes, by group and leaf."""
    return tuple(
        Node(
            name=f"{'h100' if group == 'training' else group}-{number:02d}",
            group=group,
            leaf=f"leaf-{(number - 1) // leaf + (1 if group == 'training' else 5)}",
            zone="hall-1",
            gpus=GPUS,
        )
        for group, (count, leaf) in NODE_GROUPS.items()
        for number in range(1, count + 1)
    )


def nodes_file() -> str:
    """Return what `hai up --nodes-file` reads: the GPUs are simulated."""
    return "\n".join(
        f'[[node]]\nname = "{node.name}"\ngroup = "{node.group}"\nleaf = "{node.leaf}"\nzone = "{node.zone}"\n'
        f"gpus = {node.gpus}\n"
        for node in nodes()
    )


def spec_of(task: Task, folder: str) -> TaskSpec:
    """Return what the task executes: the training of the pictures, which computes nothing."""
    tags = next((work.tags for work in WORK if matches(work, task.name)), ())
    return TaskSpec(command=("python", "train.py", "--config", f"{task.name}.yaml"), cwd=folder, tags=tags)


def matches(work: Work, name: str) -> bool:
    """Return whether a task of that name is of this work."""
    return name.startswith(work.name.partition("{")[0])


def jobs(begin: datetime, end: datetime, seed: int = 16) -> list[SimulatedJob]:
    """Return what was submitted in that time, in the order of submission; the last one at its very end."""
    chance = random.Random(seed)
    found = [(at, work) for work in WORK for at in _times(chance, work, begin, end)]
    old = {name.rsplit("-", 1)[0]: "a100" for name in ("fold-multimer-", "msa-embed-", "sim-to-real-")}
    for user, name, count, priority, minutes in TODAY:
        group = old.get(name.rsplit("-", 1)[0], "training")
        found.append((end - timedelta(minutes=minutes), Work(user, name, count, 30, 0, priority, group=group)))
    found.append((end, next(work for work in WORK if work.gpus == 2)))
    counts: dict[str, int] = {}
    made = []
    for number, (at, work) in enumerate(sorted(found, key=lambda each: each[0]), 1):
        counts[work.name] = counts.get(work.name, 0) + 1
        made.append(_job(chance, number, counts[work.name], at, work))
    return made


def _job(chance: random.Random, number: int, count: int, at: datetime, work: Work) -> SimulatedJob:
    # What is not submitted again and again takes its time: it runs or waits in the pictures.
    hours = work.hours * (min(2.5, 0.3 + chance.expovariate(1 / 0.7)) if work.a_day else 1.0)
    length = timedelta(hours=hours)
    task = Task(
        id=TaskId(number),
        name=work.name.format(n=count),
        user=work.user,
        group=work.group,
        priority=work.priority,
        nodes=work.nodes,
        gpus=work.gpus,
        submitted_at=at,
        waiting_since=at,
    )
    return SimulatedJob(
        task=task,
        work=length,
        # Some do not save when they are told to.
        saves_in=timedelta(seconds=chance.uniform(10, 60)) if chance.random() < 0.8 else None,
        saves_every=timedelta(minutes=15),
        fails_after=length / 2 if chance.randrange(10) < work.failing else None,
    )


def _times(chance: random.Random, work: Work, begin: datetime, end: datetime) -> Iterator[datetime]:
    """Yield when it was submitted: more by day than by night, and less at weekends."""
    at = begin + timedelta(days=chance.expovariate(work.a_day))
    while at < end:
        busy = (1.6 if 8 <= at.hour < 20 else 0.6) * (0.6 if at.weekday() >= 5 else 1.0)
        yield at
        at += timedelta(days=chance.expovariate(work.a_day * busy))
