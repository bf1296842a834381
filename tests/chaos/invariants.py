"""What must hold, whichever process is killed: each check is a function that turns records into sentences, one for
each violation.

A check that cannot fail is worth nothing: `test_invariants.py` hands each of them forged records that it must refuse.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from chaos.rank import SAVING
from chaos.records import ENDED, RankStory, Records, RunSeen

Finder = Callable[[Records], Iterable[str]]


@dataclass(frozen=True)
class Check:
    """A check with its name."""

    name: str
    #: The sentence that is true when the check holds.
    holds: str
    find: Finder


CHECKS: list[Check] = []
#: A strike that found no process this many times, and never found one, is broken.
OFTEN = 3


def check(name: str, holds: str) -> Callable[[Finder], Finder]:
    """Register a function as a check."""

    def add(find: Finder) -> Finder:
        CHECKS.append(Check(name, holds, find))
        return find

    return add


def judge(records: Records) -> dict[str, list[str]]:
    """Violations by the name of the check; checks without violations are named too."""
    return {check.name: list(check.find(records)) for check in CHECKS}


# -- submissions ---------------------------------------------------------------------------------------


@check("lost", "every submission that was accepted is there")
def lost(records: Records) -> Iterator[str]:
    for name, number in sorted(records.accepted.items()):
        task = records.task(number)
        if task is None or task.name != name:
            yield f"{name} was accepted as task {number}, which is {'away' if task is None else task.name}"


@check("idle", "there was work: a run in which nothing happened has shown nothing")
def idle(records: Records) -> Iterator[str]:
    if not records.accepted or not records.ranks:
        yield f"{len(records.accepted)} submissions were accepted and {len(records.ranks)} ranks began"


@check("doubled", "no submission made two tasks, however often it was sent")
def doubled(records: Records) -> Iterator[str]:
    for name, count in Counter(task.name for task in records.tasks).items():
        if count > 1:
            yield f"{name} was submitted with one key and is {count} tasks"
        if name not in records.sent:
            yield f"{name} is a task that was not submitted"


@check("unfinished", "every task succeeded in the end: nothing made a task fail for good")
def unfinished(records: Records) -> Iterator[str]:
    for task in records.tasks:
        if task.state != "succeeded":
            ended = "ended" if task.state in ENDED else "has not ended, it is"
            yield f"task {task.id} {ended} {task.state}"


# -- nodes ---------------------------------------------------------------------------------------------


@check("two on a node", "no rank found the lock of its node held by another")
def two_on_a_node(records: Records) -> Iterator[str]:
    for story in records.ranks:
        for line in story.said("slot taken"):
            yield f"{story.name} began on {story.node} while {line.by or 'somebody'} was alive there"


@check("overlapping", "the ranks' own times of one node do not overlap")
def overlapping(records: Records) -> Iterator[str]:
    on: dict[str, list[RankStory]] = defaultdict(list)
    for story in records.ranks:
        on[story.node].append(story)
    for node, there in sorted(on.items()):
        latest: RankStory | None = None
        for story in sorted(there, key=lambda story: story.began):
            if latest is not None and story.began < latest.last:
                yield f"{story.name} began on {node} {latest.last - story.began:.2f} s before the end of {latest.name}"
            if latest is None or story.last > latest.last:
                latest = story


# -- runs ----------------------------------------------------------------------------------------------


@check("started twice", "no rank of a run was started twice")
def started_twice(records: Records) -> Iterator[str]:
    for story in records.ranks:
        if story.again:
            yield f"{story.name} was started again on {story.node}"


@check("after its end", "no rank did anything after the platform had called its run ended")
def after_its_end(records: Records) -> Iterator[str]:
    for story, run in _with_runs(records):
        if run is None:
            yield f"{story.name} ran on {story.node}, and the platform shows no such run"
        elif run.ended_at is not None and story.last > run.ended_at:
            began = "began" if story.began > run.ended_at else "still worked"
            yield f"{story.name} {began} {story.last - run.ended_at:.2f} s after its run had ended ({run.reason})"


@check("in part", "what was called succeeded was done, once, by every rank of one run")
def in_part(records: Records) -> Iterator[str]:
    runs = records.runs()
    for task in records.tasks:
        good = [run for run in task.runs if run.reason == "succeeded"]
        if task.state == "succeeded" and len(good) != 1:
            yield f"task {task.id} succeeded, and {len(good)} runs of it did"
        for run in good:
            finished = {story.rank for story in runs.get((task.id, run.number), ()) if story.finished}
            if missing := sorted(set(range(task.nodes)) - finished):
                yield f"{task.id}.{run.number} is called succeeded, and its ranks {missing} did not finish"


@check("done again", "no work that was done whole, by a run that was not told to leave, was done again")
def done_again(records: Records) -> Iterator[str]:
    for (number, run_number), stories in records.runs().items():
        task = records.task(number)
        run = _run(records, number, run_number)
        if task is None or run is None or run.reason == "succeeded" or stories[0].shape == "kill":
            continue
        whole = len(stories) == task.nodes and all(story.finished for story in stories)
        # A supervisor that was killed could not tell how its command had ended: that run rightly counts as lost.
        known = bool(run.ranks) and all(rank.exit_code == 0 for rank in run.ranks)
        # At the deadline ranks are ended: the signal of that tells them too, though no notice came.
        ended = run.deadline is not None and any(story.last >= run.deadline for story in stories)
        if whole and known and not ended and not any(rank.notified for rank in run.ranks):
            yield f"{number}.{run_number} ended with 0 on every rank, untold, and is called {run.reason}"


@check("backwards", "a task that saves went on where it had saved, and each run did its steps in order")
def backwards(records: Records) -> Iterator[str]:
    by_rank: dict[tuple[int, int], list[RankStory]] = defaultdict(list)
    for story in records.ranks:
        by_rank[story.task, story.rank].append(story)
    for stories in by_rank.values():
        saved = {0}
        for story in sorted(stories, key=lambda story: (story.run, story.began)):
            for line in story.lines:
                if line.what == "from" and line.step not in saved:
                    yield f"{story.name} went on from step {line.step}, and {sorted(saved)} was saved"
                elif line.what == "saving" and story.shape in SAVING:
                    # After a kill at this point, there may be either of the two.
                    saved = {max(saved), line.step}
                elif line.what == "saved":
                    saved = {line.step}
            yield from _out_of_order(story)


def _out_of_order(story: RankStory) -> Iterator[str]:
    began = [line.step for line in story.said("from")]
    wanted = list(range(began[0] + 1, began[0] + 1 + len(story.done))) if began else []
    if story.done != wanted:
        yield f"{story.name} did the steps {story.done} where {wanted} were due"
    if story.finished and (began + story.done)[-1:] != [story.steps]:
        yield f"{story.name} finished at step {(began + story.done)[-1:]} of {story.steps}"


# -- what people read -------------------------------------------------------------------------------------


@check("logs", "no line of a rank is missing between others, doubled, or lost at an end that was in order")
def logs(records: Records) -> Iterator[str]:
    for story, run in _with_runs(records):
        lines = records.logs.get((story.task, story.rank))
        if lines is None or story.again:
            continue
        kept = [text for number, text in lines if number == story.run]
        printed = [f"{story.name} step {step}" for step in story.done]
        # A rank that was killed between its line and its journal has printed one line more than it recorded.
        if kept[: len(printed)] != printed[: len(kept)] or len(kept) > len(printed) + 1:
            yield f"{story.name} printed {len(printed)} lines, and its log has others: {_difference(printed, kept)}"
        elif len(kept) < len(printed) and story.finished and _ended_in_order(story, run):
            yield f"{story.name} ended in order, and {len(printed) - len(kept)} of its last lines are lost"


def _ended_in_order(story: RankStory, run: RunSeen | None) -> bool:
    return run is not None and any(rank.rank == story.rank and rank.exit_code == 0 for rank in run.ranks)


@check("followers", "who followed a log through it all read what is kept, each line once")
def followers(records: Records) -> Iterator[str]:
    for number, lines in sorted(records.followed.items()):
        kept = records.logs.get((number, 0), [])
        if lines != kept:
            texts = [text for _, text in kept], [text for _, text in lines]
            yield f"who followed the log of task {number} read others than are kept: {_difference(*texts)}"


@check("feed", "who followed the feed through it all was told every event, once and in order")
def feed(records: Records) -> Iterator[str]:
    if records.feed != sorted(set(records.feed)):
        yield "the events that were followed are doubled or out of order"
    if missing := sorted(set(records.feed_afterwards) - set(records.feed)):
        yield f"{len(missing)} events were not told to who followed the feed: {missing[:10]}"
    if invented := sorted(set(records.feed) - set(records.feed_afterwards)):
        yield f"{len(invented)} events were told that the feed does not have: {invented[:10]}"


@check("answers", "a request in a gap was answered that the platform is away, and not that the request is wrong")
def answers(records: Records) -> Iterator[str]:
    for strange in records.strange:
        yield f"{strange.asked}: {strange.answer}"


# -- processes -------------------------------------------------------------------------------------------


@check("blind", "every strike that was dealt several times hit something: else it looks for what is no more there")
def blind(records: Records) -> Iterator[str]:
    for name, count in sorted(records.missed.items()):
        if count >= OFTEN and not records.hit[name]:
            yield f"{name}: {count} times there was no such process"


@check("stuck", "the platform was healthy again after every strike")
def stuck(records: Records) -> Iterator[str]:
    yield from records.stuck


@check("left over", "the end of the platform left no process")
def left_over(records: Records) -> Iterator[str]:
    yield from records.left_over


# -- parts -----------------------------------------------------------------------------------------------


def _run(records: Records, task: int, number: int) -> RunSeen | None:
    found = records.task(task)
    return None if found is None else next((run for run in found.runs if run.number == number), None)


def _with_runs(records: Records) -> Iterator[tuple[RankStory, RunSeen | None]]:
    for story in records.ranks:
        yield story, _run(records, story.task, story.run)


def _difference(wanted: list[str], got: list[str]) -> str:
    doubled = [text for text, count in Counter(got).items() if count > 1]
    missing = [text for text in wanted if text not in got]
    return f"doubled {doubled[:5]}, missing {missing[:5]}, {len(got)} instead of {len(wanted)}"
