"""`hai profile`: what is asked for, what is waited for, and what is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hai_client.backports import UTC
from hai_client.cli.app import run as main
from hai_client.cli.tasks import profile
from hai_client.cli.tasks.profile import span
from hai_client.errors import Conflict
from hai_client.wire.profiles import (
    Operator,
    Phases,
    ProcessTrace,
    Recording,
    RecordingPart,
    RecordingSummary,
    Slowest,
    Stack,
    TraceSummary,
)

NOW = datetime.now(UTC)
PHASES = Phases(data=0.003, forward=0.001, backward=0.002, optimizer=0.001, communication=0.0025, idle=0.0005)
SUMMARY = TraceSummary(
    process_rank=0, world=2, device="cpu", seconds=2.0, steps=20, step_s=0.01, phases=PHASES, gpu_busy=None,
    operators=(Operator(name="aten::mm", calls=4, self_s=0.5, share=0.75),), notes=(),
)  # fmt: skip
TRACE = ProcessTrace(number=0, pid=7, name="python train.py", size=4, summary=SUMMARY, fault=None)


def a_recording(**changes: Any) -> Recording:
    parts = tuple(
        RecordingPart(rank=rank, node=f"node-{rank}", state="done", message=None, traces=(TRACE,), stacks=())
        for rank in (0, 1)
    )
    whole = RecordingSummary(
        processes=2, step_s=0.01, phases=PHASES, operators=SUMMARY.operators,
        slowest=Slowest(rank=1, trace=0, own_s=0.009, median_s=0.004),
    )  # fmt: skip
    made = Recording(
        id=3, task=41, run=1, kind="trace", state="done", by="alice", at=NOW, starts_at=NOW,
        ends_by=NOW + timedelta(days=1), seconds=5.0, steps=None, memory=False, size=8, parts=parts, summary=whole,
    )  # fmt: skip
    return replace(made, **changes)


class FakeClient:
    """Answers with recordings, the last one again and again."""

    def __init__(self, *recordings: Recording) -> None:
        self.recordings = list(recordings)
        self.calls: list[tuple[str, Any]] = []

    def profile(self, task: str, **wish: Any) -> Recording:
        self.calls.append((task, wish))
        return self.profile_of(task, 0)

    def profile_of(self, task: str, number: int) -> Recording:
        return self.recordings.pop(0) if len(self.recordings) > 1 else self.recordings[0]

    def profiles(self, task: str) -> tuple[Recording, ...]:
        return tuple(self.recordings)

    def delete_profile(self, task: str, number: int) -> None:
        self.calls.append((task, number))

    def trace(self, task: str, number: int, rank: int, trace: int) -> bytes:
        return f"{number}/{rank}/{trace}".encode()

    def all_traces(self, task: str, number: int) -> bytes:
        return b"all"


@pytest.fixture
def hai(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Runs the verb with a client that answers these recordings; returns status, output, errors and the client."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(profile, "ASK_EVERY_S", 0)

    def run(*words: str, answers: tuple[Recording, ...] = (a_recording(),)):
        from hai_client.cli.shared.context import Context

        client = FakeClient(*answers)
        monkeypatch.setattr(Context, "client", client)
        status = main(["profile", *words])
        seen = capsys.readouterr()
        return status, seen.out, seen.err, client

    return run


def test_it_waits_and_shows_phases_operators_the_slowest_and_files(hai) -> None:
    status, out, err, client = hai("train", answers=(a_recording(state="recording"), a_recording()))
    assert status == 0
    assert "recording 5 s of 2 ranks" in err
    assert "a step takes 10 ms: the mean of 20 steps of 2 processes" in out
    assert "data" in out
    assert "30%" in out
    assert "num_workers" in out
    assert "aten::mm" in out
    assert "slowest: rank 1" in out
    assert Path("hai-profiles/41-3/rank-1.json.gz").read_text() == "3/1/0"
    assert "ui.perfetto.dev" in out
    wish = {"kind": "trace", "seconds": None, "steps": None, "ranks": None, "memory": False}
    assert client.calls == [("train", wish)]


def test_the_trace_of_all_ranks_lies_where_no_tool_takes_it_for_that_of_one(hai) -> None:
    _, out, _, _ = hai("train")
    whole = Path("hai-profiles/41-3/all-ranks/trace.json.gz")
    assert whole.read_text() == "all"
    assert f"all ranks in one: {whole}" in out
    assert sorted(path.name for path in whole.parent.parent.glob("*.gz")) == ["rank-0.json.gz", "rank-1.json.gz"]
    shown = json.loads(hai("train", "--show", "3", "--save", "there", "--json")[1])
    assert shown["all_ranks"] == "there/all-ranks/trace.json.gz"


def test_one_process_has_no_trace_of_all(hai) -> None:
    alone = a_recording(parts=a_recording().parts[:1])
    _, out, _, _ = hai("train", answers=(alone,))
    assert "all ranks" not in out
    assert not Path("hai-profiles/41-3/all-ranks").exists()


def test_traces_that_are_too_large_for_one_are_there_by_rank(hai, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise Conflict("The 2 traces of recording 3 have 99 MiB: too much for one.")

    monkeypatch.setattr(FakeClient, "all_traces", refuse)
    status, out, err, _ = hai("train")
    assert status == 0
    assert "no trace of all ranks: The 2 traces of recording 3 have 99 MiB" in err
    assert "trace: hai-profiles/41-3/rank-1.json.gz" in out


def test_options_are_handed_on(hai) -> None:
    _, _, _, client = hai("train", "--steps", "10", "--ranks", "0,3", "--memory", "-o", "here")
    assert client.calls[0][1] == {"kind": "trace", "seconds": None, "steps": 10, "ranks": [0, 3], "memory": True}
    assert Path("here/rank-0.json.gz").exists()
    assert hai("train", "--seconds", "1m")[3].calls[0][1]["seconds"] == 60


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "--seconds", "soon"), "seconds"),
        (("train", "--ranks", "a"), "ranks"),
        (("train", "--seconds", "5", "--steps", "5"), "not allowed with"),
        (("train", "--py", "--memory"), "memory"),
        (("train", "--steps", "0"), "steps"),
    ],
)
def test_wrong_words_are_refused(hai, words: tuple[str, ...], said: str) -> None:
    try:
        status, _, err, _ = hai(*words)
    except SystemExit as error:
        status, err = error.code, said
    assert status == 2
    assert said in err


def test_a_rank_that_failed_says_why_and_the_status_tells(hai) -> None:
    part = RecordingPart(rank=0, node="n", state="failed", message="no process has PyTorch", traces=(), stacks=())
    status, _, err, _ = hai("train", answers=(a_recording(state="failed", parts=(part,), summary=None),))
    assert status == 1
    assert "rank 0: no process has PyTorch" in err
    assert not Path("hai-profiles").exists()


def test_stacks_are_shown_rank_by_rank(hai) -> None:
    stack = Stack(pid=7, name="python t.py", how="py-spy", kernel="main thread sleeps", text="f (t.py:3)\x1b[2J")
    part = RecordingPart(rank=1, node="node-1", state="done", message=None, traces=(), stacks=(stack,))
    status, out, _, client = hai("t", "--py", answers=(a_recording(kind="stacks", parts=(part,), summary=None),))
    assert status == 0
    assert client.calls[0][1]["kind"] == "stacks"
    assert "rank 1 on node-1, process 7: python t.py" in out
    assert "f (t.py:3)" in out
    assert "\x1b[2J" not in out


def test_earlier_ones_are_listed_shown_and_deleted(hai) -> None:
    assert "trace of 5 s" in hai("train", "--list")[1]
    status, out, _, _ = hai("train", "--show", "3")
    assert status == 0
    assert "a step takes" in out
    assert not Path("hai-profiles").exists()
    assert hai("train", "--delete", "3")[3].calls == [("train", 3)]
    assert json.loads(hai("train", "--show", "3", "--json")[1])["recording"]["id"] == 3


def test_a_folder_that_cannot_be_written_is_named(hai) -> None:
    Path("file").write_text("x")
    status, _, err, _ = hai("train", "-o", "file/below")
    assert status != 0
    assert "output: file/below" in err
    assert "--show 3 -o" in err


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (0.00045, "450 us"), (1234, "1234 s")]
)
def test_short_lengths_of_time_have_three_digits(seconds: float, text: str) -> None:
    assert span(seconds) == text
