"""Users see and change their own rules; wrong ones are refused with the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.notifying.values import NotificationKind
from hai_scheduler.service.notifying.own_rules import ChannelView, OwnNotifications, RulesChange, RulesView
from hai_scheduler.service.shared.caller import SCOPE_ADMIN, SCOPE_WRITE, Caller
from hai_scheduler.service.shared.errors import Forbidden, Invalid
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world
from unit.service.notifying.outbox_kit import FakeBook, told

ANN = Caller(name="ann", scopes=frozenset({SCOPE_WRITE}))
ADMIN = Caller(name="root", scopes=frozenset({SCOPE_ADMIN}))


def change(*channels: tuple[str, Sequence[str]], **fields: Any) -> RulesChange:
    known: dict[str, Any] = {
        "waits_longer": timedelta(hours=2), "mail": "a@example.org", "webhook": "https://example.org/x",
        "new_secret": False,
    }  # fmt: skip
    return RulesChange(channels=channels, **{**known, **fields})


def named(view: RulesView) -> dict[str, ChannelView]:
    return {one.name: one for one in view.channels}


@pytest.fixture
def own() -> OwnNotifications:
    clock = VirtualClock()
    return OwnNotifications(make_world(store=MemoryStore(), bus=MemoryBus(clock), clock=clock, address_book=FakeBook()))


async def test_a_user_begins_with_the_default_rules_and_sees_what_is_missing(own: OwnNotifications) -> None:
    view = await own.show(ANN)
    assert view.rules.of(NotificationKind.FAILED) == {"lab", "browser"}
    assert list(named(view)) == ["lab", "browser", "mail", "webhook", "sink:ops", "sink:team"]
    assert named(view)["mail"].missing == "mail"
    assert named(view)["webhook"].missing == "webhook"
    assert named(view)["sink:ops"].missing is None
    own.world.address_book.mail = False  # type: ignore[attr-defined]
    assert named(await own.show(ANN))["mail"].missing == "no_mail"


async def test_rules_are_written_and_kinds_that_are_left_out_stay(own: OwnNotifications) -> None:
    view = await own.put(ANN, change(("failed", ["mail", "sink:ops"]), ("ended", [])))
    assert view.rules.of(NotificationKind.FAILED) == {"mail", "sink:ops"}
    assert view.rules.of(NotificationKind.ENDED) == frozenset()
    assert view.rules.of(NotificationKind.INTERRUPTED) == {"lab", "browser"}
    assert view.rules.waits_longer == timedelta(hours=2)
    shown = await own.show(ANN)
    assert (shown.rules, shown.new_secret) == (view.rules, None)
    other = Caller(name="bob", scopes=frozenset({SCOPE_WRITE}))
    assert (await own.show(other)).rules.mail is None


async def test_the_key_of_a_webhook_is_shown_when_it_is_made_and_never_again(own: OwnNotifications) -> None:
    first = (await own.put(ANN, change())).new_secret
    assert first is not None
    assert first.startswith("whsec_")
    assert (await own.put(ANN, change())).new_secret is None
    second = (await own.put(ANN, change(new_secret=True))).new_secret
    assert second not in (None, first)
    assert (await own.put(ANN, change(webhook=None))).rules.webhook_secret is None
    assert (await own.put(ANN, change())).new_secret not in (None, first, second)
    async with own.store.read() as tx:
        events = await tx.events.page(after=0, limit=100)
    text = repr(events)
    assert [event.kind for event in events] == ["notification.rules"] * 4
    for secret in (first, str(second), "a@example.org", "https://example.org/x"):
        assert secret not in text, "admins read the audit trail"


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        (change(("exploded", ["lab"])), "rules", "choose among started, resumed, interrupted, ended"),
        (change(("test", ["lab"])), "rules", "is no kind of notification"),
        (
            change(("failed", ["pager"])),
            "rules.failed",
            "choose among lab, browser, mail, webhook, sink:ops, sink:team",
        ),
        (change(("failed", ["sink:secret"])), "rules.failed", "is no channel here"),
        (change(("failed", ["lab"] * 21)), "rules.failed", "20 channels at most"),
        (change(mail="bad"), "mail", "the address is no mail address"),
        (change(webhook="https://bad.example.org"), "webhook", "which is not on the open Internet"),
        (change(("failed", ["mail"]), mail=None), "mail", "give an address, or leave mail out"),
        (change(("failed", ["webhook"]), webhook=None), "webhook", "give an address, or leave the webhook out"),
        (change(webhook=None, new_secret=True), "new_secret", "there is no webhook"),
        (change(waits_longer=timedelta(seconds=59)), "waits_longer_s", "from 60 (1 minute)"),
        (change(waits_longer=timedelta(days=31)), "waits_longer_s", "30 days"),
    ],
)
async def test_wrong_rules_are_refused_with_the_remedy(
    own: OwnNotifications, wrong: RulesChange, field: str, said: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await own.put(ANN, wrong)
    assert refused.value.field == field
    assert said in str(refused.value)
    assert (await own.show(ANN)).rules.mail is None, "nothing is written"


async def test_mail_is_refused_where_the_platform_sends_none(own: OwnNotifications) -> None:
    await own.put(ANN, change())
    own.world.address_book.mail = False  # type: ignore[attr-defined]
    with pytest.raises(Invalid, match="this platform sends no mail"):
        await own.put(ANN, change(mail="b@example.org"))
    # An address from before may stay: its owner need not know that mail was switched off.
    await own.put(ANN, change(waits_longer=timedelta(hours=3)))


async def test_a_sink_that_was_removed_is_shown_as_missing(own: OwnNotifications) -> None:
    await own.put(ANN, change(("failed", ["sink:ops"])))
    own.world.address_book.sinks = lambda: ()  # type: ignore[method-assign]
    assert named(await own.show(ANN))["sink:ops"].missing == "sink"


async def test_services_have_no_notifications(own: OwnNotifications) -> None:
    service = replace(ANN, kind="service")
    with pytest.raises(Forbidden, match="with the token of a user"):
        await own.put(service, change())
    with pytest.raises(Forbidden, match="with the token of a user"):
        await own.test(service, None)


async def test_a_test_goes_over_all_that_its_user_can_use(own: OwnNotifications) -> None:
    assert (await own.test(ANN, None)).channels == {"lab", "browser"}
    await own.put(ANN, change(("failed", ["sink:ops"])))
    assert (await own.test(ANN, None)).channels == {"lab", "browser", "mail", "webhook", "sink:ops"}
    assert (await own.test(ANN, ["sink:team"])).channels == {"sink:team"}
    await own.put(ANN, change(mail=None))
    with pytest.raises(Invalid, match="mail: is missing"):
        await own.test(ANN, ["mail"])
    with pytest.raises(Invalid, match="channels: 'pager' is no channel here"):
        await own.test(ANN, ["pager"])


async def test_users_read_and_mark_their_own(own: OwnNotifications) -> None:
    async with own.store.write() as tx:
        for number in range(3):
            await tx.notifications.add(told(user="ann", key=str(number)))
        await tx.notifications.add(told(user="bob"))
    page = await own.page(ANN, before=None, limit=2, unread=False)
    assert ([one.key for one, _ in page.items], page.unread) == (["2", "1"], 3)
    assert (await own.page(ADMIN, before=None, limit=10, unread=False)).items == []
    assert await own.mark_read(ADMIN, 10**6) == 0
    assert await own.mark_read(ANN, page.items[1][0].id) == 2
    assert (await own.page(ANN, before=None, limit=9, unread=True)).unread == 1


async def test_trouble_of_a_channel_is_shown(own: OwnNotifications) -> None:
    from hai_scheduler.core.notifying.sending import failed
    from hai_scheduler.core.notifying.values import deliveries_of

    async with own.store.write() as tx:
        added = await tx.notifications.add(told(user="ann"))
        await tx.notifications.route(added, deliveries_of(added, added.at))
        ((delivery, _),) = await tx.notifications.due(added.at, 5)
        await tx.notifications.save([failed(delivery, added.at, "refused", hopeless=True)])
    assert (named(await own.show(ANN))["mail"].error, named(await own.show(ANN))["lab"].error) == ("refused", None)


async def test_sinks_are_listed_for_admins_alone(own: OwnNotifications) -> None:
    assert own.sinks(ADMIN) == (True, ("ops", "team"))
    with pytest.raises(Forbidden):
        own.sinks(ANN)
