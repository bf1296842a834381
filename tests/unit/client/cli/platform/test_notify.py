"""`hai notify`: rules, tests and lists."""

from __future__ import annotations

from typing import Any

import pytest

from hai_client.cli.platform import notify
from unit.client.conftest import Hai


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line]


def delivery(channel: str, state: str, error: str | None = None) -> dict[str, Any]:
    return {"channel": channel, "state": state, "attempts": 1, "ended_at": None, "error": error, "digest": False}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "WAIT_S", 0.3)
    monkeypatch.setattr(notify, "LOOK_S", 0.01)


def test_it_shows_what_is_told_and_where(hai: Hai, platform: Any) -> None:
    shown = hai("notify")
    assert ["failed", "browser,", "lab", "a", "task", "has", "failed,", "with", "its", "last", "lines"] in lines(
        shown.out
    )
    assert ["waiting", "-", "a", "task", "waits", "for", "longer", "than", "1", "h"] in lines(shown.out)
    assert ["sinks", "sink:ops"] in lines(shown.out)
    platform.mail_trouble = "the mail server is away"
    assert "mail: a message was not delivered: the mail server is away" in hai("notify", "show").err
    assert '"webhook_secret": null' in hai("notify", "--json").out


def test_rules_are_changed_and_what_is_not_named_stays(hai: Hai, platform: Any) -> None:
    done = hai("notify", "set", "failed,ended", "lab,mail", "--mail", "a@example.org", "--waits-longer", "2h")
    assert done.code == 0, done.err
    assert platform.calls[-1].body == {
        "rules": [{"kind": "failed", "channels": ["lab", "mail"]}, {"kind": "ended", "channels": ["lab", "mail"]}],
        "waits_longer_s": 7200.0, "mail": "a@example.org", "webhook": None, "new_secret": False,
    }  # fmt: skip
    hai("notify", "set", "ended", "none")
    assert platform.notification_rules["rules"]["ended"] == []
    assert platform.notification_rules["mail"] == "a@example.org"
    hai("notify", "set", "--no-mail")
    assert platform.notification_rules["mail"] is None
    hai("notify", "set", "all", "lab")
    assert len(platform.calls[-1].body["rules"]) == 8


def test_the_key_of_a_webhook_is_shown_once(hai: Hai) -> None:
    made = hai("notify", "set", "--webhook", "https://example.org/x")
    assert "key of the webhook: whsec_bmV3" in made.out
    assert "shown once" in made.err
    assert "whsec_" not in hai("notify", "set", "failed", "lab").out
    assert "whsec_" in hai("notify", "set", "--new-secret").out
    assert "whsec_" not in hai("notify").out


def test_wrong_words_are_refused_with_an_example(hai: Hai) -> None:
    assert "say where, for example `hai notify set failed lab,mail`" in hai("notify", "set", "failed").err
    assert "is no kind of notification" in hai("notify", "set", "exploded", "lab").err
    assert hai("notify", "set", "--mail", "a@example.org", "--no-mail").code == 2
    assert "too short" in hai("notify", "set", "--waits-longer", "5s").err


def test_a_test_says_what_came_of_it(hai: Hai, platform: Any) -> None:
    platform.test_deliveries = [delivery("feed", "sent"), delivery("mail", "sent")]
    done = hai("notify", "test")
    assert (done.code, done.out) == (0, "JupyterLab and browser: sent\nmail: sent\n")
    assert platform.said("POST", "/test")[0].body == {"channels": None}
    platform.test_deliveries = [
        delivery("mail", "pending", "the mail server is away"),
        delivery("webhook", "given_up", "410"),
    ]
    failed = hai("notify", "test", "mail,webhook")
    assert failed.code == 1
    assert "mail: not sent yet: the mail server is away; it is tried again" in failed.out
    assert "webhook: given up: 410" in failed.out
    assert platform.said("POST", "/test")[1].body == {"channels": ["mail", "webhook"]}


def test_a_test_that_nobody_sends_ends_with_a_word(hai: Hai) -> None:
    waited = hai("notify", "test")
    assert waited.code == 1
    assert "the scheduler may be away" in waited.err


def test_what_was_told_is_listed_and_marked(hai: Hai, platform: Any) -> None:
    assert hai("notify", "list").out == "nothing in the last seven days\n"
    platform.test_deliveries = [delivery("feed", "sent")]
    hai("notify", "test")
    assert "This is a test of notifications" in hai("notify", "list").out
    hai("notify", "list", "--unread", "--read", "-n", "5")
    assert platform.notifications[0]["read"]
    assert hai("notify", "list", "--unread").out == "nothing\n"
