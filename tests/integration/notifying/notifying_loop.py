"""A loop that sends notifications until it is killed: `python notifying_loop.py FOLDER SMTP_PORT CLAIM_S`."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

from hai_scheduler.adapters.messaging.settings import MailSettings
from hai_scheduler.adapters.messaging.smtp import SmtpMessenger
from hai_scheduler.adapters.messaging.tls import tls_of
from hai_scheduler.adapters.messaging.webhooks import WebhookMessenger
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.notifying import sending as rules
from hai_scheduler.service.notifying import sending as service
from hai_scheduler.service.notifying.notifier import Notifier
from hai_scheduler.service.notifying.routing import Routing
from hai_scheduler.service.notifying.sending import Sending
from hai_scheduler.store.store import open_store
from kit.receivers import NoLogs
from kit.worlds import make_world


async def main(folder: Path, smtp_port: int, claim: timedelta) -> None:
    clock = SystemClock()
    store, bus = await open_store(f"sqlite+aiosqlite:///{folder / 'hai.sqlite'}"), MemoryBus(clock)
    mail = MailSettings(host="127.0.0.1", port=smtp_port, security="none", sender="hai@example.org")
    # What is lost is what counts here, not how much an hour may have.
    service.PER_HOUR = service.ON_SCREEN_PER_HOUR = 10**6
    rules.FIRST_PAUSE = timedelta(seconds=0.2)
    world = make_world(
        store=store,
        bus=bus,
        clock=clock,
        messengers={
            "mail": SmtpMessenger(mail, tls_of(None)),
            "webhook": WebhookMessenger(tls_of(folder / "server.crt"), [ip_network("127.0.0.0/8")]),
        },
    )
    notifier = Notifier(world, Routing(world, NoLogs()), Sending(world, claim=claim))
    print("ready", flush=True)
    await notifier.run(lambda: True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), timedelta(seconds=float(sys.argv[3]))))
