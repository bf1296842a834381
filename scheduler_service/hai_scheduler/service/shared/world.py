"""What the use cases of one process act on: its adapters, the numbers of its settings, and its view of the cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import cast

from hai_scheduler.core.workspace.abi import PlatformImage
from hai_scheduler.ports.bus import Bus
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.files import Files
from hai_scheduler.ports.haienvs import Haienvs
from hai_scheduler.ports.identities import Identities
from hai_scheduler.ports.images import Images
from hai_scheduler.ports.messengers import AddressBook, Messenger
from hai_scheduler.ports.snapshots import Snapshots
from hai_scheduler.ports.vault import Vault
from hai_scheduler.service.shared.latest_plan import LatestPlan
from hai_scheduler.service.shared.orders import ComputePool
from hai_scheduler.service.shared.policy_store import PolicyStore
from hai_scheduler.service.shared.settings import ServiceSettings
from hai_scheduler.service.shared.timings import ProcessTimings
from hai_scheduler.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLocations:
    """The addresses and folders that ranks need."""

    #: The address at which ranks reach the REST interface.
    api_url: str
    #: The folder that contains the checkpoint folders of tasks that name none.
    checkpoint_root: str


#: Returns the versions of the platform's parts; None: it is not installed, or does not answer.
Versions = Callable[[], Awaitable[Mapping[str, str | None]]]


async def _no_versions() -> Mapping[str, str | None]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the use cases of one process act on. Tests give other adapters; nothing else differs for them."""

    store: Store
    cluster: Cluster
    bus: Bus
    clock: Clock
    settings: ServiceSettings
    #: The API's address and the folder of checkpoints, as ranks see them.
    locations: RankLocations
    #: Seals the secrets of users.
    vault: Vault
    #: Which addresses users may write.
    address_book: AddressBook
    #: The name under which this process asks for the leader lease; no other process has it. Empty: it never leads.
    holder: str = ""
    files: Files | None = None
    #: The worker processes that compute; None: this process computes.
    workers: ComputePool | None = None
    #: The environments of haienv; None: this platform has none.
    haienvs: Haienvs | None = None
    #: The snapshots of code; None: this platform stores none.
    snapshots: Snapshots | None = None
    #: Who the processes of a user are; None: all are the platform's own account.
    identities: Identities | None = None
    #: A text by which a client on this machine knows that tasks see its files; None: ranks are elsewhere.
    machine: str | None = None
    #: The registries that tell digests of images; None: none is asked.
    images: Images | None = None
    #: What carries messages to people, by kind of channel (`mail`, `webhook`, `sink`).
    messengers: Mapping[str, Messenger] = field(default_factory=dict)
    #: The image of ranks whose environment names none; None: ranks run in no image.
    platform_image: PlatformImage | None = None
    #: How long the database and the cluster take to answer this process.
    timings: ProcessTimings = field(default_factory=lambda: ProcessTimings("here"))
    versions: Versions = _no_versions
    #: The view of the latest tick or look of this process.
    latest_plan: LatestPlan = field(default_factory=LatestPlan)
    #: The policy numbers in force.
    policies: PolicyStore = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "policies", PolicyStore(self.settings))


@dataclass(slots=True, eq=False)
class UseCase:
    """What acts on the world. What nearly every use case needs of it has its name here, too."""

    world: World

    store = cast("Store", property(attrgetter("world.store")))
    cluster = cast("Cluster", property(attrgetter("world.cluster")))
    bus = cast("Bus", property(attrgetter("world.bus")))
    clock = cast("Clock", property(attrgetter("world.clock")))
    settings = cast("ServiceSettings", property(attrgetter("world.settings")))
    policies = cast("PolicyStore", property(attrgetter("world.policies")))
    latest_plan = cast("LatestPlan", property(attrgetter("world.latest_plan")))
