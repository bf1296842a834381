"""A loop that is killed at any moment loses no notification and tells none twice.

Mail and webhooks are told at least once, each time with the same id; the feed exactly once; and what was written as
sent is not sent again. The servers are real ones, in this process; the loop is another process, killed with SIGKILL.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.notifying.values import (
    Delivery,
    DeliveryState,
    Notification,
    NotificationKind,
    NotificationRules,
)
from hai_scheduler.store.store import SqlStore, open_store
from kit.certificates import certificate, serving
from kit.receivers import HookServer, MailServer, hook_server, mail_server
from kit.waiting import until

TESTS = Path(__file__).parents[2]
#: Notifications that are written, each over three channels, and kills while they are sent.
COUNT, KILLS = 80, 8
CLAIM_S = 1.0
KEY = "whsec_a2V5"


def told(number: int) -> Notification:
    return Notification(
        user=f"u{number % 4}",
        kind=NotificationKind.ENDED,
        at=SystemClock().now(),
        key=f"{number}:task.succeeded:1",
        sentence="task.succeeded",
        params={"task": number, "name": f"t{number}"},
        channels=frozenset({"lab", "mail", "webhook"}),
    )


async def begin(folder: Path, mail: MailServer) -> asyncio.subprocess.Process:
    words = [sys.executable, str(Path(__file__).with_name("notifying_loop.py")), str(folder), str(mail.port)]
    loop = await asyncio.create_subprocess_exec(
        *words, str(CLAIM_S), env={**os.environ, "PYTHONPATH": str(TESTS)}, stdout=asyncio.subprocess.PIPE
    )
    assert loop.stdout is not None
    assert await loop.stdout.readline() == b"ready\n"
    return loop


async def deliveries(store: SqlStore) -> list[Delivery]:
    async with store.read() as tx:
        pages = [await tx.notifications.of_user(f"u{n}", before=None, limit=10_000, unread=False) for n in range(4)]
    return [one for page in pages for _, some in page for one in some]


async def ended(store: SqlStore) -> bool:
    found = await deliveries(store)
    return len(found) == 3 * COUNT and all(one.state is DeliveryState.SENT for one in found)


def numbers(mail: MailServer) -> Counter[int]:
    return Counter(int(str(letter["Subject"]).split(" ")[1]) for letter in mail.letters)


async def write(store: SqlStore, chosen: random.Random) -> None:
    """Write the notifications a few at a time, as ticks do."""
    numbers_ = iter(range(COUNT))
    while some := [told(number) for _, number in zip(range(chosen.randint(1, 9)), numbers_, strict=False)]:
        async with store.write() as tx:
            await tx.notifications.add_all(some)
        await asyncio.sleep(chosen.random() * 0.3)  # the moments are what is drawn


async def kill_many(folder: Path, mail: MailServer, chosen: random.Random, answered: asyncio.Event) -> None:
    """Kill loops: some at a random moment, some right after a server has taken a message and before it says so."""
    for _ in range(KILLS):
        loop = await begin(folder, mail)
        if chosen.random() < 0.5:
            await asyncio.sleep(chosen.random() * 0.8)
        else:
            answered.clear()
            with_message = asyncio.create_task(answered.wait())
            await asyncio.wait({with_message}, timeout=3)
            with_message.cancel()
        loop.kill()
        await loop.wait()
        assert loop.returncode == -9, "it ended by itself"


async def test_nothing_is_lost_and_nothing_is_told_twice(tmp_path: Path) -> None:
    chosen = random.Random(36)
    certificate(tmp_path, "server", "127.0.0.1")
    store = await open_store(f"sqlite+aiosqlite:///{tmp_path / 'hai.sqlite'}")
    async with mail_server() as mail, hook_server(serving(tmp_path, "server")) as hook:
        answered = asyncio.Event()
        mail.taken = hook.taken = answered.set
        async with store.write() as tx:
            for number in range(4):
                await tx.notifications.put_rules(rules(f"u{number}", hook))
        async with asyncio.TaskGroup() as both:
            both.create_task(write(store, chosen))
            both.create_task(kill_many(tmp_path, mail, chosen, answered))
        loop = await begin(tmp_path, mail)
        try:
            await until("everything to be sent", lambda: ended(store), within=90, pause=0.3)
            # What was written as sent stays sent: the next loop sends nothing.
            received = len(mail.letters), len(hook.requests)
            loop.kill()
            await loop.wait()
            loop = await begin(tmp_path, mail)
            await asyncio.sleep(2 * CLAIM_S + 1)
            assert (len(mail.letters), len(hook.requests)) == received
        finally:
            loop.kill()
            await loop.wait()
        await check(store, mail, hook)
    await store.close()


async def check(store: SqlStore, mail: MailServer, hook: HookServer) -> None:
    by_mail, by_hook = numbers(mail), Counter(request.json["data"]["params"]["task"] for request in hook.requests)
    assert set(by_mail) == set(by_hook) == set(range(COUNT)), "nothing is lost"
    # A message may come again only with the id that it had: receivers know it by that.
    letters = {str(one["Message-ID"]): str(one["Subject"]) for one in mail.letters}
    assert len(letters) == COUNT
    ids = {request.headers["webhook-id"] for request in hook.requests}
    assert len(ids) == COUNT
    again = sum(by_mail.values()) + sum(by_hook.values()) - 2 * COUNT
    # Each kill can interrupt one message for each user over each channel.
    assert again <= KILLS * 8
    attempts = {one.channel: 0 for one in await deliveries(store)}
    for one in await deliveries(store):
        attempts[one.channel] += one.attempts
    assert attempts["mail"] >= sum(by_mail.values())
    async with store.read() as tx:
        events = await tx.events.page(after=0, limit=10_000)
    shown: Counter[Any] = Counter(
        event.data["params"]["task"] for event in events if event.kind == EventKind.NOTIFICATION
    )
    assert shown == Counter(range(COUNT)), "the feed has each exactly once"
    print(f"{again} messages came again over {KILLS} kills")


def rules(user: str, hook: HookServer) -> NotificationRules:
    return NotificationRules(
        user=user,
        waits_longer=timedelta(hours=1),
        mail=f"{user}@example.org",
        webhook=f"https://127.0.0.1:{hook.port}/{user}",
        webhook_secret=KEY,
    )
