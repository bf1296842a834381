"""Orders to record: carried out one after the other, in a thread where it takes time, and answered in any case."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hai_client.rank.profiling import stacks, tracing
from hai_client.rank.records.recorder import HEARD_BYTES, Recorder
from hai_client.rank.shared.api import Answer
from kit.waiting import wait_for
from unit.client.rank.rank_kit import a_spec


class Api:
    """Keeps the ends that are reported."""

    def __init__(self) -> None:
        self.ends: list[tuple[int, dict[str, Any]]] = []

    def finish_recording(self, recording: int, body: dict[str, Any], patience: float) -> Answer:
        self.ends.append((recording, body))
        return Answer(204, {})


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def recorder(api: Api) -> Iterator[Recorder]:
    with tempfile.TemporaryDirectory(prefix="r") as folder:
        from pathlib import Path

        spec = a_spec(Path(folder), runtime_dir=folder)
        made = Recorder(spec, api, None, lambda: None)  # type: ignore[arg-type]
        made.open()
        yield made
        made.finish()


def an_order(number: int = 1, **changes: Any) -> dict[str, Any]:
    starts = round((time.time() - 60) * 1000)
    given = {"id": number, "kind": "trace", "starts_ms": starts, "seconds": 1.0, "steps": None, "memory": False}
    return {**given, "most_bytes": 100, **changes}


def work(recorder: Recorder, api: Api, ends: int) -> None:
    def look() -> bool:
        recorder.step(time.monotonic())
        return len(api.ends) >= ends

    wait_for("the end to be reported", look)


def test_orders_are_carried_out_one_after_the_other(recorder: Recorder, api: Api) -> None:
    recorder.order(an_order(1))
    recorder.order(an_order(2))
    work(recorder, api, 2)
    assert [number for number, _ in api.ends] == [1, 2]
    assert all("no process of this rank has PyTorch" in body["message"] for _, body in api.ends)


def test_an_order_that_is_not_understood_is_answered(recorder: Recorder, api: Api) -> None:
    recorder.order({"id": 5, "kind": "trace"})
    work(recorder, api, 1)
    assert api.ends[0][0] == 5
    assert "does not understand" in api.ends[0][1]["message"]


def test_what_is_printed_while_stacks_are_read_is_handed_on(
    recorder: Recorder, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []

    def read(_environment: object, _account: object, printed: Any) -> dict[str, Any]:
        wait_for("output", lambda: heard.append(printed()) or b"".join(heard))  # type: ignore[func-returns-value]
        return {"state": "done", "message": None, "stacks": []}

    monkeypatch.setattr(stacks, "read_stacks", read)
    recorder.printed(b"before")
    recorder.order(an_order(kind="stacks"))
    recorder.step(0)
    recorder.printed(b"Thread 1")
    recorder.printed(b"x" * HEARD_BYTES)
    recorder.printed(b"too much")
    work(recorder, api, 1)
    assert b"".join(heard).startswith(b"Thread 1")
    assert b"too much" not in b"".join(heard)


def test_a_rank_that_ends_while_it_is_recorded_says_so(
    recorder: Recorder, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing.TraceJob, "step", lambda *_: False)
    recorder.order(an_order())
    recorder.step(0)
    recorder.finish()
    assert api.ends[0][1]["state"] == "failed"
    assert recorder.fd == -1


def test_a_task_may_have_no_socket(api: Api, tmp_path: Any) -> None:
    spec = a_spec(tmp_path, runtime_dir=str(tmp_path), env={"KINETO_USE_DAEMON": "0"})
    made = Recorder(spec, api, None, lambda: None)  # type: ignore[arg-type]
    made.open()
    assert made.fd == -1
    assert spec.env == {}
