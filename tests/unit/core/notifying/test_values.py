"""Notifications, deliveries and the default rules."""

from __future__ import annotations

from hai_scheduler.core.notifying.values import (
    MOST_CHARACTERS,
    MOST_LINES,
    RULED,
    Notification,
    NotificationKind,
    NotificationRules,
    bounded,
    deliveries_of,
)
from kit.builders import T0, at


def test_jupyterlab_and_the_browser_share_one_delivery() -> None:
    told = Notification(
        id=3, user="ann", kind=NotificationKind.FAILED, at=T0, key="k", sentence="task.failed",
        channels=frozenset({"lab", "browser", "mail", "sink:ops"}),
    )  # fmt: skip
    assert [(one.channel, one.notification, one.user, one.next_at) for one in deliveries_of(told, at(1))] == [
        ("feed", 3, "ann", at(1)),
        ("mail", 3, "ann", at(1)),
        ("sink:ops", 3, "ann", at(1)),
    ]


def test_by_default_nothing_leaves_the_platform() -> None:
    rules = NotificationRules(user="ann")
    assert frozenset().union(*(rules.of(kind) for kind in RULED)) == {"lab", "browser"}
    assert NotificationKind.TEST not in RULED


def test_last_lines_are_bounded_and_hold_no_control_codes() -> None:
    assert bounded(("a\tb", "\x1b[31mred\x00\u202e")) == ("a\tb", "�[31mred��")
    assert bounded(tuple(str(n) for n in range(30))) == tuple(str(n) for n in range(10, 30))
    long = bounded(("first", "x" * 1500, "y" * 1500))
    assert sum(map(len, long)) <= MOST_CHARACTERS
    assert long[-1] == "y" * 1500, "the last line counts most"
    assert len(long) <= MOST_LINES
    assert bounded(()) == ()
