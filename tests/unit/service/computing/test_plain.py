"""Values that go to a worker process and back stay the same, and no values of other types can come."""

from __future__ import annotations

import json
from datetime import timedelta
from types import MappingProxyType

import pytest

from hai_scheduler.api.server.route import YamlText
from hai_scheduler.core.model.policy import Policies, Policy
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry, TaskState
from hai_scheduler.core.model.verdicts import Holder, Verdict, VerdictKind
from hai_scheduler.service.computing.plain import Plain
from hai_scheduler.service.computing.work import PLAIN
from hai_scheduler.service.insight.forecast import Forecast, Outcome
from hai_scheduler.service.logs.lines import Cursor, Hits, Line
from hai_scheduler.service.shared.orders import Bounds, ForecastOrder, SnapshotFacts
from hai_scheduler.service.tasks.submission import Submission
from kit.builders import a_checkpoint, a_notice, a_run, a_task, at, some_nodes

TASK = a_task(
    state=TaskState.SUSPENDING,
    nodes=2,
    run=a_run(1, nodes=2, gpus=(0, 3), notice=a_notice(beneficiary=7), checkpoint=a_checkpoint()),
    retry=Retry(count=3, backoff=timedelta(seconds=1.5), exit_codes=frozenset({1, 9})),
)
VERDICT = Verdict(
    kind=VerdictKind.TURN,
    priority=Priority.HIGH,
    data=MappingProxyType({"until": at(3), "why": "2026-01-05T08:00:03+00:00", "free": 1.5, "gone": None, "in": True}),
    holders=(Holder(task_id=TASK.id, name="é\ud800", user="u", priority=Priority.LOW, nodes=2),),
)
VALUES = {
    "an order": ForecastOrder(
        task=TASK, now=at(1.000001), bounds=Bounds(), hypothetical=True, groups=frozenset({"ml", "cv"})
    ),
    "facts": SnapshotFacts(
        nodes=some_nodes(3, zone="a"),
        policies=Policies(groups={"g": Policy(weights={"ann": 2.0}, min_run=timedelta(microseconds=1))}),
    ),
    "a forecast": Forecast(
        task=TASK,
        hypothetical=False,
        outcome=Outcome.LATER,
        at=at(0),
        verdict=VERDICT,
        computed_until=at(9),
    ),
    "a submission": Submission(name="n", command=("x", ""), cwd="/", env={"$": "at", "of": "\0"}),
    "hits": Hits(counts={(1, 0): 3}, lines=(Line(run=1, rank=0, at=None, text="x", cursor=Cursor(1)),), complete=False),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_is_written_is_read_again(name: str) -> None:
    value = VALUES[name]
    read = PLAIN.read(PLAIN.write(value))
    assert read == value
    assert type(read) is type(value)


def test_a_time_stays_a_time_and_a_text_that_looks_like_one_a_text() -> None:
    data = PLAIN.read(PLAIN.write(VERDICT)).data
    assert data["until"] == at(3)
    assert data["why"] == "2026-01-05T08:00:03+00:00"
    assert data["in"] is True


def test_a_text_of_a_class_of_its_own_is_a_text() -> None:
    assert type(PLAIN.read(PLAIN.write(YamlText("x")))) is str


def test_no_other_class_is_written_or_read() -> None:
    narrow = Plain(Cursor)
    with pytest.raises(TypeError, match="Bounds"):
        narrow.write(Bounds())
    with pytest.raises(ValueError, match="no value of ours"):
        narrow.read(PLAIN.write(Bounds()))
    for forged in ({"$": "Cursor", "of": [1]}, {"run": 1}, {"$": "Popen", "of": []}):
        with pytest.raises(ValueError):
            narrow.read(json.dumps(forged).encode())
