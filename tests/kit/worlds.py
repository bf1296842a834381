"""The world of use cases, with stand-ins for what a test or benchmark does not give."""

from __future__ import annotations

from typing import Any

from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.adapters.messaging.address_book import SettingsAddressBook
from hai_scheduler.adapters.messaging.settings import MessagingSettings
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.key_ring import KeyRing
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.shared.world import RankLocations, World
from kit.memory.cluster import MemoryCluster
from kit.stores import ScratchStore

PLACES = RankLocations(api_url="http://127.0.0.1/api/v1", checkpoint_root="/checkpoints")
TOKENS = RunTokens(Secret("a secret of the service"))


def make_world(**given: Any) -> World:
    """The world of the given adapters and settings, by the names of the fields of `World`."""
    clock = given.setdefault("clock", SystemClock())
    if "store" not in given:
        given["store"] = ScratchStore()
    if "cluster" not in given:
        given["cluster"] = MemoryCluster(clock, ())
    if "bus" not in given:
        given["bus"] = MemoryBus(clock)
    address_book = SettingsAddressBook(MessagingSettings())
    defaults = {
        "vault": KeyRing([b"a key of thirty-two bytes, or so"]),
        "settings": ServiceSettings(),
        "locations": PLACES,
        "address_book": address_book,
        "identities": OneAccount(100),
    }
    return World(**defaults | given)
