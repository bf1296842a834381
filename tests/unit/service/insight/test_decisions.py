"""The decisions on a task as sentences."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.service.insight.decisions import is_decision, sentence_of_event
from hai_scheduler.service.shared.errors import NotFound
from kit.builders import at
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service, user


async def test_the_story_of_a_task_is_told_in_order_and_the_feed_leaves_verdicts_out() -> None:
    service = await Service(nodes=1).open()
    first = await service.submit("first", "ann", does=Behaviour(work=timedelta(minutes=10)))
    await service.step()
    second = await service.submit("second", "bob", does=Behaviour(saves_in=timedelta(seconds=10)))
    await service.step()
    await service.step(61)
    await service.step(20)
    urgent = await service.submit("urgent", "cy", priority=Priority.HIGH, does=Behaviour(work=timedelta(minutes=1)))
    await service.step()
    await service.platform.tasks.submissions.set_priority(user("bob"), str(second), Priority.LOW)
    await service.platform.tasks.submissions.hold(user("bob"), str(second))
    await service.step(20)
    told = await service.platform.insight.decisions.of_task(user("bob"), str(second), after=0, limit=100)
    kinds = [(one.kind, one.data.get("kind") or one.data.get("to")) for one in told]
    assert kinds[:3] == [("task.verdict", "TURN"), ("task.verdict", "DRAINING"), ("task.state", "starting")]
    sentences = [sentence_of_event(ENGLISH, one) for one in told]
    assert sentences[2] == "Run 1 starts on node-1."
    assert any(f"(task {urgent})" in text and "is told to leave by" in text for text in sentences)
    assert "Given the priority LOW by bob." in sentences
    assert "Held by bob." in sentences
    assert any(text.startswith("Run 1 has left its nodes, with its work saved: a task of higher") for text in sentences)
    assert all(text[0].isupper() and text.endswith(".") for text in sentences)

    pages, after = [], 0
    while page := await service.platform.insight.decisions.of_task(user("bob"), "second", after=after, limit=2):
        pages += page
        after = page[-1].seq
    assert pages == list(told)
    with pytest.raises(NotFound):
        await service.platform.insight.decisions.of_task(user("eve"), str(first), after=0, limit=1)

    fed = []
    async for event in service.platform.insight.feed.follow(user("bob"), after=0):
        if event is None:
            break
        fed.append(event.kind)
    assert "task.state" in fed
    assert "task.verdict" not in fed


UNKNOWN = (
    "Run 1 has left its nodes by itself, and nothing shows that it saved when it was told (1 min 30 s of work lost): "
    "the platform was paused."
)


@pytest.mark.parametrize(
    ("kind", "data", "sentence"),
    [
        ("task.state", {"to": "running", "run": 1}, None),
        ("task.state", {"to": "suspending", "run": 1}, None),
        (
            "task.state",
            {"to": "suspended", "run": 2, "reason": "start_failed", "message": "no disk"},
            "Run 2 has left its nodes: it could not be started on its nodes (no disk).",
        ),
        ("task.state", {"to": "stopped", "reason": "user_stopped"}, "Stopped: it was stopped by hand."),
        (
            "task.state",
            {"to": "failed", "reason": "failed", "message": "rank 0 with status 137: out of memory"},
            "Failed: its command failed (rank 0 with status 137: out of memory).",
        ),
        ("task.state", {"to": "failed", "reason": "a word of tomorrow"}, "Failed: a word of tomorrow."),
        (
            "run.notice",
            {"run": 1, "reason": "drained", "deadline": at(120).isoformat(), "beneficiary": None, "revision": 2},
            "Run 1 now has to leave by 08:02:00 UTC: a node of it was being drained.",
        ),
        ("task.held", {"held": False}, "Released by ann."),
        ("task.order", {"order": [1, 2]}, "Moved among the waiting tasks of its owner by ann."),
        ("task.state", {"to": "starting", "run": 3, "nodes": ["n1", "n2"]}, "Run 3 starts on n1, n2."),
        (
            "task.state",
            {"to": "suspended", "run": 1, "reason": "paused", "left": "saved", "lost_s": 0.4},
            "Run 1 has left its nodes, with its work saved: the platform was paused.",
        ),
        (
            "task.state",
            {"to": "suspended", "run": 1, "reason": "paused", "left": "unknown", "lost_s": 90},
            UNKNOWN,
        ),
        (
            "task.state",
            {"to": "suspended", "run": 1, "left": "ended", "lost_s": "?"},
            "Run 1 has left its nodes before it had saved: no reason was kept.",
        ),
        ("task.state", {}, None),
        ("task.held", {"held": True}, "Held by ann."),
        ("task.priority", {"priority": "AUTO"}, "Given the priority AUTO by ann."),
        ("task.alarm", {"message": "It is told to leave too often."}, "It is told to leave too often."),
        ("task.checkpoint", {"run": 1, "step": 3}, None),
        ("task.submitted", {"name": "x"}, None),
    ],
)
def test_lines_of_history_say_what_was_decided(kind: str, data: dict[str, object], sentence: str | None) -> None:
    event = HistoryEvent(at=at(), kind=kind, actor="ann", data=data)
    assert (sentence_of_event(ENGLISH, event) if is_decision(event) else None) == sentence
