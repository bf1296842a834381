"""Each check of the chaos run refuses forged records: a check that cannot fail would be worth nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chaos import rank as rank_script
from chaos.invariants import CHECKS, judge
from chaos.records import Line, RankSeen, RankStory, Records, RunSeen, Strange, TaskSeen, stories

Forge = Callable[[Records], None]


def story(rank: int = 0, *, run: int = 2, at: float = 20.0, start: int = 2, shape: str = "saves") -> RankStory:
    """A rank that does four steps from `start`, one a second, and finishes."""
    lines = [Line("start", at), Line("from", at, start)]
    for n, step in enumerate(range(start + 1, 5)):
        lines.append(Line("step", at + 1 + n, step))
    lines += [Line("saving", at + 5, 4), Line("saved", at + 5, 4), Line("finished", at + 5)]
    return RankStory("k", 1, run, rank, 2, f"node-{rank + 1}", shape, 4, tuple(lines))


def left(rank: int = 0) -> RankStory:
    """A rank of the first run, which does two steps, saves, and leaves because of a notice."""
    lines = [Line("start", 10), Line("from", 10, 0), Line("step", 11, 1), Line("step", 12, 2)]
    lines += [Line("saving", 12, 2), Line("saved", 12, 2), Line("left", 12, 2)]
    return RankStory("k", 1, 1, rank, 2, f"node-{rank + 1}", "saves", 4, tuple(lines))


def good() -> Records:
    """A task of two ranks that was told to leave once; everything is in order."""
    told = tuple(RankSeen(n, f"node-{n + 1}", 0, notified=True) for n in range(2))
    ended = tuple(RankSeen(n, f"node-{n + 1}", 0) for n in range(2))
    first = RunSeen(1, "turn_over", 9.0, 13.0, told, deadline=13.0)
    second = RunSeen(2, "succeeded", 19.0, 26.0, ended)
    found = Records(
        ranks=[left(0), left(1), story(0), story(1)],
        accepted={"k": 1},
        sent={"k"},
        tasks=[TaskSeen(1, "k", "succeeded", 2, (first, second))],
        feed=[1, 2, 3],
        feed_afterwards=[1, 2, 3],
    )
    for rank in range(2):
        found.logs[1, rank] = [(run, f"1.{run}.{rank} step {step}") for run, step in ((1, 1), (1, 2), (2, 3), (2, 4))]
    found.followed[1] = list(found.logs[1, 0])
    return found


def test_what_is_in_order_passes_every_check() -> None:
    assert judge(good()) == {check.name: [] for check in CHECKS}


def with_task(**changes: object) -> Forge:
    def forge(records: Records) -> None:
        records.tasks[0] = replace(records.tasks[0], **changes)  # type: ignore[arg-type]

    return forge


def with_run(number: int, **changes: object) -> Forge:
    def forge(records: Records) -> None:
        task = records.tasks[0]
        runs = tuple(replace(run, **changes) if run.number == number else run for run in task.runs)  # type: ignore[arg-type]
        records.tasks[0] = replace(task, runs=runs)

    return forge


def with_lines(which: int, *lines: Line) -> Forge:
    """A forger that replaces all lines but the first of the story with index `which`."""

    def forge(records: Records) -> None:
        records.ranks[which] = replace(records.ranks[which], lines=(records.ranks[which].lines[0], *lines))

    return forge


def more(name: str, *items: object) -> Forge:
    return lambda records: getattr(records, name).extend(items)


def gone(which: int) -> Forge:
    return lambda records: records.ranks.pop(which) and None


def logged(rank: int, lines: list[tuple[int, str]]) -> Forge:
    def forge(records: Records) -> None:
        records.logs[1, rank] = lines
        records.followed.clear()

    return forge


def finished_untold(records: Records) -> None:
    """Let the first run finish without any notice, although there is a second run."""
    records.ranks[:2] = [story(n, run=1, at=5.0, start=0) for n in range(2)]
    unheard = tuple(RankSeen(n, f"node-{n + 1}", 0) for n in range(2))
    with_run(1, ranks=unheard, deadline=30.0)(records)


def one_within_another(records: Records) -> None:
    """Let two short ranks run, one after the other, during a long one."""
    long = story(0, at=30)
    short = [replace(long, task=2, lines=(Line("start", at), Line("step", at + 0.5, 1))) for at in (31.0, 34.0)]
    records.ranks += [long, *short]


SECOND = story()
LINES = good().logs[1, 0]

FORGED: list[tuple[str, str, Forge]] = [
    ("lost", "an accepted task is away", lambda records: records.tasks.clear()),
    ("lost", "its id is another's", with_task(name="another")),
    ("idle", "nothing was accepted", lambda records: records.accepted.clear()),
    ("idle", "no rank began", lambda records: records.ranks.clear()),
    ("doubled", "one key, two tasks", lambda records: records.tasks.append(replace(records.tasks[0], id=2))),
    ("doubled", "no client sent it", lambda records: records.sent.clear()),
    ("unfinished", "it is still queued", with_task(state="queued")),
    ("unfinished", "it failed", with_task(state="failed")),
    ("two on a node", "the lock was held", with_lines(2, Line("slot taken", 20, by="1.1.0"))),
    ("overlapping", "the run before was alive", with_lines(0, Line("step", 20.5, 1))),
    ("overlapping", "one is alive within another", one_within_another),
    ("started twice", "its journal was there", lambda records: records.ranks.append(replace(SECOND, again=True))),
    ("after its end", "it began when its run was over", with_run(2, ended_at=19.5)),
    ("after its end", "it worked on when its run was over", with_run(2, ended_at=22.0)),
    ("after its end", "no such run", with_task(runs=good().tasks[0].runs[1:])),
    ("in part", "a rank never began", gone(3)),
    ("in part", "a rank did not finish", with_lines(3, Line("from", 20, 2), Line("step", 21, 3))),
    ("in part", "no run of it succeeded", with_run(2, reason="node_lost")),
    ("in part", "two runs of it succeeded", with_run(1, reason="succeeded")),
    ("done again", "finished before a rank was told", finished_untold),
    ("backwards", "it began again although it had saved", with_lines(2, Line("from", 20, 0))),
    ("backwards", "it went on from a step that was never saved", with_lines(2, Line("from", 20, 3))),
    ("backwards", "a step was left out", with_lines(2, Line("from", 20, 2), Line("step", 22, 4))),
    (
        "backwards",
        "a step was done twice",
        with_lines(2, Line("from", 20, 2), Line("step", 21, 3), Line("step", 22, 3)),
    ),
    ("backwards", "it finished early", with_lines(2, Line("from", 20, 2), Line("step", 21, 3), Line("finished", 22))),
    ("logs", "a line is missing between others", logged(0, LINES[1:])),
    ("logs", "a line is doubled", logged(0, [*LINES[:3], LINES[2], LINES[3]])),
    ("logs", "the last line is lost", logged(1, good().logs[1, 1][:3])),
    ("logs", "lines of two runs are mixed up", logged(0, [(2, text) for _, text in LINES])),
    ("followers", "a line was not told", lambda records: records.followed[1].pop() and None),
    ("followers", "a line was told twice", lambda records: records.followed[1].append(LINES[3])),
    ("feed", "an event was not told", more("feed_afterwards", 4)),
    ("feed", "an event was told twice", more("feed", 3)),
    ("feed", "an event was told that is not kept", more("feed", 9)),
    ("feed", "events in the wrong order", lambda records: records.feed.reverse()),
    ("answers", "wrong input, it said", more("strange", Strange(1.0, "hai list", "status 2: not found"))),
    ("blind", "a strike that never found its process", lambda records: records.missed.update({"Hub killed": 3})),
    ("stuck", "never healthy again", more("stuck", "after service-kill")),
    ("left over", "a process is left", more("left_over", "123 python")),
]


@pytest.mark.parametrize(("name", "forge"), [(n, f) for n, _, f in FORGED], ids=[f"{n}-{why}" for n, why, _ in FORGED])
def test_a_check_refuses_forged_records(name: str, forge: Forge) -> None:
    records = good()
    forge(records)
    assert judge(records)[name], "the check has seen nothing"


def test_every_check_has_forged_records() -> None:
    assert {check.name for check in CHECKS} == {name for name, _, _ in FORGED}


def killed_while_saving(records: Records) -> None:
    """The checkpoint of step 2 is there or not: either way the next run is in order."""
    with_lines(0, Line("from", 10, 0), Line("step", 11, 1), Line("step", 12, 2), Line("saving", 12, 2))(records)


def lost_whole_work(records: Records) -> None:
    """Every rank finished, but a supervisor was killed before it could say so."""
    finished_untold(records)
    with_run(1, reason="node_lost", ranks=(RankSeen(0, "node-1", 0), RankSeen(1, "node-2", None)))(records)


def told_late(records: Records) -> None:
    """Every rank finished, and one was told just before: an exit with 0 after SIGTERM reads as suspended."""
    finished_untold(records)
    with_run(1, ranks=(RankSeen(0, "node-1", 0, notified=True), RankSeen(1, "node-2", 0)))(records)


def ended_at_the_deadline(records: Records) -> None:
    """No rank heard the notice, as the API was away; every rank finished while it was being ended."""
    finished_untold(records)
    with_run(1, deadline=9.5)(records)


@pytest.mark.parametrize("forge", [lost_whole_work, told_late, ended_at_the_deadline])
def test_what_the_rules_allow_is_no_work_done_again(forge: Forge) -> None:
    records = good()
    forge(records)
    assert judge(records)["done again"] == []


@pytest.mark.parametrize("goes_on_from", [0, 2])
def test_killed_while_it_saves_a_rank_goes_on_from_either_checkpoint(goes_on_from: int) -> None:
    records = good()
    killed_while_saving(records)
    records.ranks[2] = story(0, start=goes_on_from)
    assert judge(records)["backwards"] == []


def test_a_killed_rank_may_have_printed_one_line_more_than_it_wrote_down() -> None:
    records = good()
    with_lines(2, Line("from", 20, 2), Line("step", 21, 3))(records)
    assert judge(records)["logs"] == []


def test_the_lines_that_a_killed_rank_printed_last_may_be_lost() -> None:
    records = good()
    with_lines(2, Line("from", 20, 2), Line("step", 21, 3), Line("step", 22, 4))(records)
    records.logs[1, 0] = LINES[:3]
    assert judge(records)["logs"] == []


# -- the rank's own script ----------------------------------------------------------------------------------


def environment(folder: Path, run: int = 1) -> dict[str, str]:
    for name in ("ranks", "slots", "checkpoints"):
        (folder / name).mkdir(exist_ok=True)
    values = ("1", str(run), "0", "1", "node-1", str(folder / "checkpoints"))
    return dict(zip(rank_script.NAMES, values, strict=True))


def test_a_rank_writes_down_what_the_checks_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(tmp_path), "k", "periodic", "4", "0"]
    for run in (1, 2):
        assert rank_script.main(words, environment(tmp_path, run)) == 0
    first, second = stories(tmp_path / "ranks")
    assert (first.done, first.finished, first.said("slot taken")) == ([1, 2, 3, 4], True, [])
    assert (second.done, second.said("from")[0].step) == ([], 4), "it finds its checkpoint"
    assert second.said("slot taken")[0].by == "1.1.0", "the slot of a rank of the same process is still held"
    assert capsys.readouterr().out.splitlines() == [f"1.1.0 step {n}" for n in range(1, 5)]


def test_a_rank_that_is_started_twice_is_told_from_the_first(tmp_path: Path) -> None:
    for _ in range(2):
        rank_script.main([str(tmp_path), "k", "plain", "1", "0"], environment(tmp_path))
    assert [story.again for story in stories(tmp_path / "ranks")] == [True, False]


def test_a_rank_without_an_environment_writes_down_the_same(tmp_path: Path) -> None:
    line = [sys.executable, rank_script.__file__, str(tmp_path), "k", "naked", "2", "0"]
    assert subprocess.run(line, env=environment(tmp_path), check=True, timeout=60, capture_output=True).returncode == 0
    (found,) = stories(tmp_path / "ranks")
    assert (found.done, found.finished) == ([1, 2], True)
