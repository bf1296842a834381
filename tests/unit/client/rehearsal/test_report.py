"""What follows from the facts of a rehearsal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hai_client.constants import PROFILES
from hai_client.rehearsal import report
from hai_client.rehearsal.facts import First, RehearsalFacts, Second, SeenCheckpoint
from hai_client.rehearsal.files import FolderWatcher


def seen(folder: Path, act: Callable[[Path], None], **more: list[str]) -> FolderWatcher:
    files = FolderWatcher([str(folder)], **{"wide": [], "folders": [], **more})
    try:
        act(folder)
    finally:
        files.close()
    return files


SAVED = SeenCheckpoint(1.5, "told", "/ckpt/a.pt", 7)


LEFT = First(told=True, before_s=10, exit_code=0, leave_s=2, polls=True, said_done=True, saved=SAVED)


WENT_ON = Second(seconds=5, exit_code=None, how="read", path="/ckpt/a.pt", after_s=2)


def facts(first: First = LEFT, second: Second | None = WENT_ON, profile: str = "cooperative") -> RehearsalFacts:
    return RehearsalFacts(("python", "train.py"), profile, 120, first, second)


def test_nothing_is_lost_only_if_it_saved_left_and_went_on() -> None:
    assert facts().nothing_lost
    assert facts().lost_s == 0
    lost = [
        facts(second=None),
        facts(second=Second(5, None)),
        facts(second=Second(5, 1, "read", "/ckpt/a.pt")),
        facts(First(told=False, before_s=10, exit_code=0)),
        facts(First(told=True, before_s=10, leave_s=2)),
        facts(First(told=True, before_s=10, leave_s=120, ended=True, saved=SAVED)),
    ]
    assert [one.nothing_lost for one in lost] == [False] * len(lost)
    assert [one.left for one in lost] == ["saved", "saved", "saved", None, "unknown", "ended"]
    assert [one.lost_s for one in lost] == [0, 0, 0, None, 12, 118.5]


def test_work_counts_as_lost_from_the_last_checkpoint() -> None:
    last = SeenCheckpoint(-3, "seen", "/ckpt/a.pt")
    assert facts(First(told=True, before_s=10, leave_s=2, last=last)).lost_s == 5


def test_every_other_profile_gets_a_sentence_and_none_speaks_of_what_was_tried() -> None:
    first = First(told=True, before_s=10, leave_s=0, handlers=("USR1",), exit_code=143)
    others = report.otherwise(facts(first, profile="cooperative"))
    assert set(others) == set(PROFILES) - {"cooperative", "auto"}
    assert others["sigterm"].startswith("SIGTERM would end it at once, as it has no handler: all of its work")
    assert others["slurm"] == "its handler of SIGUSR1 would run"
    assert report.otherwise(facts(profile="kill"))["slurm"].startswith("its job.should_suspend would take SIGUSR1")


def test_what_is_not_known_is_called_so() -> None:
    told = dict(report.lines(facts(second=Second(5, None))))
    assert told["resumed"].startswith("unknown")
    assert report.verdict(facts(second=Second(5, None))).startswith("it saved, but was not seen to go on")
    told = dict(report.lines(facts(First(told=True, before_s=10, caught=False, exit_code=143, cut="/ckpt/b.pt"))))
    assert "/ckpt/b.pt was being written when it was ended, and may be torn" in told["saved"]


def test_all_facts_can_be_written_as_json() -> None:
    found = json.loads(json.dumps(report.as_data(facts())))
    assert found["first"]["saved"] == {"at_s": 1.5, "source": "told", "path": "/ckpt/a.pt", "step": 7}
    assert (found["nothing_lost"], found["verdict"]) == (True, "nothing would be lost")
