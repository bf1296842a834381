"""What deliveries say, for the feed and for other channels."""

from __future__ import annotations

import json

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.notifying.values import Delivery, NotificationKind
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.sentences.catalogue import ENGLISH, languages
from hai_scheduler.sentences.notifications import text_of
from hai_scheduler.service.notifying.messages import MOST_TOLD, event_of, in_words_of, message_of
from kit.builders import T0, at
from unit.service.notifying.outbox_kit import told

MARK = Mark(database="abcd", epoch=2, steps=0, task=0, number=0)


def a_delivery(number: int, digest: int | None = None) -> Delivery:
    return Delivery(id=number, notification=number, user="alice", channel="mail", at=T0, next_at=T0, digest=digest)


def test_a_message_has_the_text_the_lines_and_the_facts() -> None:
    notification = told(id=5, lines=("Traceback", "ValueError: x"))
    message = message_of([(a_delivery(9), notification)], MARK)
    assert message.id == "hai-abcd-2-9"
    assert message.subject == "Task 1 (train) has failed: its command failed (status 1)."
    assert message.lines == ("Traceback", "ValueError: x")
    assert message.payload == {
        "type": "hai.notification",
        "timestamp": T0.isoformat(),
        "data": {
            "user": "alice",
            "id": 5,
            "kind": "failed",
            "at": T0.isoformat(),
            "task_id": 1,
            "sentence": "task.failed",
            "params": {"task": 1, "name": "train", "exit_codes": [1], "reason": "failed"},
            "text": message.subject,
            "lines": ["Traceback", "ValueError: x"],
        },
    }


def test_a_digest_has_one_id_and_names_what_it_holds() -> None:
    some = [(a_delivery(n, 3), told(id=n, at=at(n), lines=("x",) * 20)) for n in range(3, 3 + MOST_TOLD + 5)]
    message = message_of(some, MARK)
    assert (message.id, message.at) == ("hai-abcd-2-3", at(MOST_TOLD + 7))
    assert message.subject == f"{MOST_TOLD + 5} more notifications: {MOST_TOLD + 5} failed."
    data = message.payload["data"]
    assert (data["kind"], data["count"], len(data["notifications"])) == ("digest", MOST_TOLD + 5, MOST_TOLD)
    assert len(json.dumps(message.payload)) < 100_000


def test_the_feeds_event_says_who_shows_it() -> None:
    event = event_of([told(id=5, channels=frozenset({"lab", "mail"}))], at(3))
    assert (event.kind, event.user, event.task_id, event.at) == ("notification.sent", "alice", 1, at(3))
    assert (event.data["id"], event.data["kind"], event.data["channels"]) == (5, "failed", ["lab"])
    test = told(id=6, kind=NotificationKind.TEST, channels=frozenset({"lab", "browser"}), task_id=None)
    both = event_of([told(id=5, channels=frozenset({"lab"})), test], at(3))
    assert (both.task_id, both.data["count"], both.data["channels"]) == (None, 2, ["browser", "lab"])


def test_the_feed_is_read_in_the_language_of_its_reader() -> None:
    chinese = languages()["zh-cn"]
    one, digest = event_of([told()], T0), event_of([told(), told(kind=NotificationKind.STARTED)], T0)
    assert in_words_of(ENGLISH, one) is one
    assert in_words_of(chinese, one).data == {**one.data, "text": text_of(chinese, told())}
    assert in_words_of(chinese, digest).data["text"] == "另有 2 条通知：1 条启动, 1 条失败。"
    other = HistoryEvent(at=T0, kind=EventKind.TASK_HELD, actor="ann", data={"text": "as it is"})
    assert in_words_of(chinese, other) is other
