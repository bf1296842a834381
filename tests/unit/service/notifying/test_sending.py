"""What is due is sent once; after a crash the same message again; and after failures with pauses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.core.notifying.values import DeliveryState, NotificationRules
from hai_scheduler.ports.messengers import Undelivered
from hai_scheduler.service.notifying.sending import AT_ONCE, MESSAGES, PER_HOUR, recipient_of
from kit.builders import T0, at
from unit.service.notifying.outbox_kit import Outbox, told

PENDING, SENT, GIVEN_UP = DeliveryState.PENDING, DeliveryState.SENT, DeliveryState.GIVEN_UP


@pytest.fixture
async def outbox() -> Outbox:
    made = Outbox()
    await made.rule()
    return made


async def test_each_channel_gets_the_message_once(outbox: Outbox) -> None:
    await outbox.put(told(channels=frozenset({"lab", "browser", "mail", "webhook", "sink:ops"})))
    for _ in range(3):
        await outbox.send(100)
    (mail,), (hook,), (sink,) = outbox.mail.sent, outbox.webhook.sent, outbox.sink.sent
    assert (mail[0].address, hook[0].address, sink[0].address) == ("a@example.org", "https://example.org/x", "ops")
    assert hook[0].secret is not None
    assert hook[0].secret.reveal() == "whsec_AA=="
    assert len({mail[1].id, hook[1].id, sink[1].id}) == 3, "receivers of different channels may be the same program"
    (event,) = await outbox.events()
    assert (event.user, event.task_id, event.data["channels"]) == ("alice", 1, ["browser", "lab"])
    assert event.data["text"] == "Task 1 (train) has failed: its command failed (status 1)."
    assert {one.state for one in await outbox.deliveries()} == {SENT}


async def test_a_loop_that_died_while_sending_leaves_a_message_that_is_sent_again_with_the_same_id(
    outbox: Outbox,
) -> None:
    await outbox.put(told())
    outbox.mail.open.clear()
    await outbox.sending.send()
    claimed = (await outbox.deliveries())[0]
    assert (claimed.state, claimed.attempts) == (PENDING, 1)
    await outbox.sending.end()
    outbox.mail.open.set()
    # Another loop: the claim of the dead one holds it back, and then ends.
    outbox.sending = outbox.started()
    await outbox.send(30)
    assert outbox.mail.sent == []
    await outbox.send(31)
    ((_, message),) = outbox.mail.sent
    async with outbox.store.read() as tx:
        mark = await tx.database.mark()
    assert message.id == f"hai-{mark.database}-{mark.epoch}-{claimed.id}"


async def test_what_is_being_sent_is_not_begun_again(outbox: Outbox) -> None:
    await outbox.put(told(key="1"))
    outbox.mail.open.clear()
    await outbox.sending.send()
    await outbox.clock.advance(500)
    await outbox.sending.send()
    outbox.mail.open.set()
    await outbox.sending.idle()
    assert len(outbox.mail.sent) == 1


async def test_a_failure_is_told_and_tried_again_with_pauses_until_it_is_accepted(outbox: Outbox) -> None:
    outbox.mail.refusals = [Undelivered("the mail server is away"), Undelivered("the mail server is away")]
    await outbox.put(told())
    await outbox.send()
    (delivery,) = await outbox.deliveries()
    assert (delivery.state, delivery.error, delivery.next_at) == (PENDING, "the mail server is away", at(5))
    await outbox.send(4)
    assert (await outbox.deliveries())[0].attempts == 1
    await outbox.send(1)
    assert (await outbox.deliveries())[0].next_at == at(15)
    await outbox.send(10)
    (delivery,) = await outbox.deliveries()
    assert (delivery.state, delivery.error, delivery.attempts) == (SENT, None, 3)
    assert len(outbox.mail.sent) == 1


async def test_it_is_given_up_after_a_day_with_the_reason(outbox: Outbox) -> None:
    await outbox.put(told())
    for _ in range(40):
        outbox.mail.refusals.append(Undelivered("the mail server is away"))
        await outbox.send(3600)
    (delivery,) = await outbox.deliveries()
    assert (delivery.state, delivery.error) == (GIVEN_UP, "the mail server is away")
    assert delivery.ended_at is not None
    assert timedelta(days=1) <= delivery.ended_at - T0 <= timedelta(days=1, hours=2)
    assert outbox.mail.sent == []


async def test_what_can_never_succeed_is_given_up_at_once(outbox: Outbox) -> None:
    outbox.webhook.refusals = [Undelivered("the webhook answers 410", hopeless=True)]
    await outbox.rule(mail=None)
    await outbox.put(told(channels=frozenset({"mail", "webhook"})))
    await outbox.send()
    assert [(one.channel, one.state, one.error) for one in await outbox.deliveries()] == [
        ("mail", GIVEN_UP, "its user has removed the address"),
        ("webhook", GIVEN_UP, "the webhook answers 410"),
    ]


async def test_a_channel_that_the_platform_lost_is_tried_again_when_it_is_back(outbox: Outbox) -> None:
    outbox.sending.world = replace(outbox.sending.world, messengers={})
    await outbox.put(told())
    await outbox.send()
    (delivery,) = await outbox.deliveries()
    assert (delivery.state, delivery.error) == (
        PENDING,
        "this platform sends nothing over mail any more: tell an admin",
    )
    outbox.sending = outbox.started()
    await outbox.send(10)
    assert len(outbox.mail.sent) == 1


async def test_a_messenger_with_a_fault_of_its_own_keeps_nothing_back(outbox: Outbox) -> None:
    outbox.mail.refusals = [KeyError("a fault")]  # type: ignore[list-item]
    await outbox.put(told(key="1"), told(key="2"))
    await outbox.send()
    assert len(outbox.mail.sent) == 1
    await outbox.send(61)
    assert len(outbox.mail.sent) == 2


async def test_many_at_once_become_a_digest_and_the_hour_has_a_limit(outbox: Outbox) -> None:
    count = PER_HOUR + 30
    await outbox.put(*(told(key=str(n), task_id=n, params={"task": n, "name": f"t{n}"}) for n in range(count)))
    for _ in range(PER_HOUR):
        await outbox.send(1)
    messages = [message for _, message in outbox.mail.sent]
    assert len(messages) <= PER_HOUR
    digest = messages[-1]
    assert digest.payload["type"] == "hai.digest"
    assert digest.subject.endswith("more notifications: 31 failed.")
    singles = [int(one.payload["data"]["task_id"]) for one in messages[:-1]]
    bundled = [int(one["task_id"]) for one in digest.payload["data"]["notifications"]]
    assert sorted(singles + bundled) == list(range(count)), "each once"
    await outbox.put(told(key="later"))
    await outbox.send(60)
    assert len(outbox.mail.sent) == len(messages), "the hour is full"
    await outbox.send(3600)
    assert len(outbox.mail.sent) == len(messages) + 1


async def test_a_slow_channel_delays_no_other(outbox: Outbox) -> None:
    outbox.webhook.open.clear()
    await outbox.put(told(key="1", channels=frozenset({"mail", "webhook"})))
    await outbox.sending.send()
    await outbox.put(told(key="2"))
    await outbox.clock.advance(1)
    await outbox.sending.send()
    await outbox.clock.advance(1)
    assert len(outbox.mail.sent) == 2
    await outbox.sending.end()


async def test_only_some_channels_are_sent_over_at_a_time(outbox: Outbox) -> None:
    async with outbox.store.write() as tx:
        for number in range(AT_ONCE + 4):
            await tx.notifications.put_rules(NotificationRules(user=f"u{number}", mail=f"u{number}@example.org"))
    await outbox.put(*(told(user=f"u{number}") for number in range(AT_ONCE + 4)))
    outbox.mail.open.clear()
    assert await outbox.sending.send() == AT_ONCE
    assert await outbox.sending.send() == 0
    outbox.mail.open.set()
    await outbox.sending.idle()
    assert outbox.sending.freed.is_set()
    await outbox.send()
    assert len(outbox.mail.sent) == AT_ONCE + 4


async def test_no_claim_is_taken_for_more_than_can_be_sent_before_it_ends(outbox: Outbox) -> None:
    await outbox.put(*(told(key=str(n)) for n in range(MESSAGES + 3)))
    assert await outbox.sending.send() == MESSAGES
    await outbox.sending.idle()
    assert sum(one.attempts for one in await outbox.deliveries()) == MESSAGES


def test_where_messages_go() -> None:
    rules = NotificationRules(user="ann", mail="a@x.org", webhook="https://x.org/", webhook_secret="whsec_x")
    assert recipient_of("pager", rules) is None
    assert recipient_of("mail", replace(rules, mail=None)) is None
    assert recipient_of("webhook", replace(rules, webhook=None)) is None
    assert "whsec_x" not in repr(recipient_of("webhook", rules))


async def test_a_channel_that_takes_nothing_has_a_line_when_it_stops_and_one_when_it_takes_them_again(
    outbox: Outbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="hai_scheduler.service.notifying.sending")
    for _ in range(2):
        caplog.clear()
        outbox.mail.refusals = [Undelivered("the mail server is away")] * 5
        for number in range(3):
            await outbox.put(told(key=f"{number}-{len(outbox.mail.sent)}"))
        for _ in range(20):
            await outbox.send(600)
        assert outbox.mail.refusals == []
        assert [record.getMessage() for record in caplog.records] == [
            "messages to alice over mail are not delivered: the mail server is away; they are tried again",
            "messages to alice over mail are delivered again",
        ]
