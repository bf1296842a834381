"""The parts of a rehearsal: its service, what it sees of files, and what follows from facts."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hai_client.constants import PROFILES
from hai_client.rehearsal import report
from hai_client.rehearsal.facts import First, RehearsalFacts, Second, SeenCheckpoint
from hai_client.rehearsal.files import FolderWatcher
from hai_client.rehearsal.service import LocalService


@pytest.fixture
def heard() -> list[dict]:
    return []


@pytest.fixture
def service(heard: list[dict]) -> Iterator[LocalService]:
    made = LocalService("1.1", "secret", heard.append)
    yield made
    made.close()


def ask(service: LocalService, method: str, path: str, body: bytes | None = None, token: str = "secret"):
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=60)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


def test_a_notice_is_given_to_who_has_not_seen_it(service) -> None:
    path = "/runs/1.1/notice?rank=0&seen={}&wait={}"
    assert ask(service, "GET", path.format(0, 0)) == (200, {"notice": None})
    service.notify({"kind": "suspend"})
    assert ask(service, "GET", path.format(0, 60)) == (200, {"notice": {"kind": "suspend", "revision": 1}})
    assert ask(service, "GET", path.format(1, 0)) == (200, {"notice": None})
    service.notify({"kind": "stop"})
    assert ask(service, "GET", path.format(1, 60))[1]["notice"]["revision"] == 2


def test_reports_are_taken_in_order(service, heard) -> None:
    for kind in ("saving", "saved"):
        assert ask(service, "POST", "/runs/1.1/ranks/0/report", json.dumps({"kind": kind}).encode())[0] == 204
    assert [report["kind"] for report in heard] == ["saving", "saved"]


@pytest.mark.parametrize(
    ("method", "path", "body", "token", "status"),
    [
        ("GET", "/runs/1.1/notice?rank=0&seen=0&wait=0", None, "wrong", 401),
        ("POST", "/runs/1.1/ranks/0/report", b"{}", "wrong", 401),
        ("GET", "/runs/1.2/notice?rank=0&seen=0&wait=0", None, "secret", 404),
        ("GET", "/runs/1.1/notice?rank=0&seen=x&wait=0", None, "secret", 400),
        ("GET", "/runs/1.1/notice", None, "secret", 400),
        ("POST", "/runs/1.1/ranks/1/report", b"{}", "secret", 404),
        ("POST", "/runs/1.1/ranks/0/report", b"[]", "secret", 400),
        ("POST", "/runs/1.1/ranks/0/report", b"{", "secret", 400),
    ],
)
def test_others_and_nonsense_are_refused(service, heard, method, path, body, token, status) -> None:
    assert ask(service, method, path, body, token)[0] == status
    assert heard == []


# --- files


def seen(folder: Path, act: Callable[[Path], None], **more: list[str]) -> FolderWatcher:
    files = FolderWatcher([str(folder)], **{"wide": [], "folders": [], **more})
    try:
        act(folder)
    finally:
        files.close()
    return files


def test_what_is_written_and_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")

    def act(folder: Path) -> None:
        (folder / "new").write_text("x")
        (folder / "old").read_text()
        (folder / "new").rename(folder / "whole")

    files = seen(tmp_path, act)
    assert set(files.written) == {str(tmp_path / "new"), str(tmp_path / "whole")}
    assert set(files.moved) == {str(tmp_path / "whole")}
    assert set(files.read) == {str(tmp_path / "old")}
    assert files.incomplete == ""


def test_folders_that_come_later_are_watched_with_what_is_in_them(tmp_path: Path) -> None:
    def act(folder: Path) -> None:
        draft = folder / ".draft" / "deep"
        draft.mkdir(parents=True)
        (draft / "a").write_text("x")
        (folder / ".draft").rename(folder / "step-1")
        end = time.monotonic() + 60
        while str(folder / "step-1/deep") not in files_now() and time.monotonic() < end:
            time.sleep(0.01)
        (folder / "step-1/deep/b").write_text("x")
        (folder / "step-1/deep/a").read_text()

    made: list[FolderWatcher] = []

    def files_now() -> list[str]:
        return made[0].folders

    files = FolderWatcher([str(tmp_path)], wide=[], folders=[])
    made.append(files)
    try:
        act(tmp_path)
    finally:
        files.close()
    assert {str(tmp_path / "step-1/deep/a"), str(tmp_path / "step-1/deep/b")} <= set(files.written)
    assert str(tmp_path / "step-1/deep/a") in files.moved
    assert str(tmp_path / "step-1/deep/a") in files.read


def test_folders_of_programs_and_hidden_ones_of_before_are_left_out(tmp_path: Path) -> None:
    here = tmp_path / "here"
    for name in (".git", "__pycache__", "venv", "runs"):
        (here / name).mkdir(parents=True)
    (here / "venv/pyvenv.cfg").touch()
    files = FolderWatcher([], wide=[str(here)], folders=[])
    files.close()
    assert files.folders == [str(here), str(here / "runs")]


def test_a_place_that_is_no_folder_is_no_error(tmp_path: Path) -> None:
    assert seen(tmp_path / "none", lambda _: None, folders=[os.devnull]).folders == []


# --- words

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
