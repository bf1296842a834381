"""Opens the adapters that the settings choose: the store, the cluster and the bus of one process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hai_client.snapshots.machine import machine_id
from hai_scheduler.adapters.environments.folder import HaienvFolder
from hai_scheduler.adapters.environments.this_machine import this_machine
from hai_scheduler.adapters.identities.claimed import ClaimedIdentities
from hai_scheduler.adapters.identities.fixed import OneAccount
from hai_scheduler.adapters.identities.passwd_files import PasswdFiles
from hai_scheduler.adapters.kubernetes.files import PodFiles
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.kubernetes.shared_logs import SharedLogs
from hai_scheduler.adapters.local.accounts import Accounts, users_folder
from hai_scheduler.adapters.local.cluster import LocalCluster
from hai_scheduler.adapters.local.files import LocalFiles
from hai_scheduler.adapters.local.gpus import real_gpus
from hai_scheduler.adapters.local.nodes import local_nodes
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.adapters.local.unix_identities import UnixIdentities
from hai_scheduler.adapters.messaging.address_book import SettingsAddressBook
from hai_scheduler.adapters.messaging.settings import MessagingSettings
from hai_scheduler.adapters.messaging.sinks import AppriseMessenger, SinkFolder
from hai_scheduler.adapters.messaging.smtp import SmtpMessenger
from hai_scheduler.adapters.messaging.tls import tls_of
from hai_scheduler.adapters.messaging.webhooks import WebhookMessenger
from hai_scheduler.adapters.snapshots.folder import SnapshotFolder
from hai_scheduler.adapters.system.clock import SystemClock
from hai_scheduler.adapters.system.key_ring import KeyRing
from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.adapters.system.socket_bus import open_bus as open_socket_bus
from hai_scheduler.app.config import ConfigError, Settings
from hai_scheduler.app.sealing_keys import FILE as KEYS_FILE
from hai_scheduler.app.sealing_keys import kept_keys
from hai_scheduler.app.starting import writable
from hai_scheduler.app.versions import versions
from hai_scheduler.core.workspace.abi import PlatformImage
from hai_scheduler.ports.bus import Bus
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.files import Files
from hai_scheduler.ports.haienvs import Haienvs
from hai_scheduler.ports.identities import Identities
from hai_scheduler.ports.images import Images
from hai_scheduler.ports.logs import LogSource
from hai_scheduler.ports.messengers import Messenger
from hai_scheduler.ports.secret import Secret
from hai_scheduler.ports.snapshots import Snapshots
from hai_scheduler.ports.timings import Timings
from hai_scheduler.ports.vault import Vault
from hai_scheduler.service.shared.orders import ComputePool
from hai_scheduler.service.shared.timings import ProcessTimings
from hai_scheduler.service.shared.world import RankLocations, World
from hai_scheduler.store.store import Store, open_store


async def open_world(settings: Settings, accounts: Accounts | None) -> World:
    """Open all adapters. Raises ConfigError, Temporary, and the adapters' own errors for wrong settings.

    If one cannot be opened, those that are open already are closed again: the start may be tried many times.
    """
    clock, timings, locations = SystemClock(), ProcessTimings(settings.role), locations_of(settings, accounts)
    async with contextlib.AsyncExitStack() as opened:
        cluster: Cluster
        files: Files
        if settings.kubernetes is not None:
            store = await _open_store(settings, timings)
            opened.push_async_callback(store.close)
            cluster = await open_kubernetes(
                settings.kubernetes, store.logs, clock, acts=settings.role == "loop", timings=timings
            )
            opened.push_async_callback(cluster.close)
            files, accounts = PodFiles(), None
        else:
            # The driver is asked where its answer counts.
            real = () if settings.nodes_file is not None or settings.gpus_per_node == 0 else await real_gpus()
            cluster = _local_cluster(settings, locations.api_url, accounts, timings, real)
            opened.push_async_callback(cluster.close)
            store = await _open_store(settings, timings)
            opened.push_async_callback(store.close)
            files = LocalFiles(unix_users=accounts is not None)
        vault = _vault(settings)
        bus = await _open_bus(settings, clock)
        opened.pop_all()
    return World(
        settings=settings.service,
        locations=locations,
        store=store,
        vault=vault,
        cluster=cluster,
        bus=bus,
        clock=clock,
        files=files,
        workers=_workers(settings),
        haienvs=_haienvs(settings, accounts),
        identities=identities_of(settings, accounts, store),
        snapshots=_snapshots(settings, clock, accounts),
        machine=machine_id() if settings.kubernetes is None else None,
        images=None if settings.kubernetes is None else registries_of(settings.kubernetes, clock),
        messengers=_messengers(settings.messaging) if settings.role == "loop" else {},
        address_book=SettingsAddressBook(settings.messaging),
        platform_image=None if settings.kubernetes is None else platform_image_of(settings.kubernetes),
        timings=timings,
        versions=versions,
    )


def _vault(settings: Settings) -> Vault:
    """What seals the secrets of users. Raises ConfigError, without a key in it."""
    try:
        if settings.secrets_keys is not None:
            return KeyRing.read(settings.secrets_keys.reveal())
        with writable("state-dir", settings.state_dir, ConfigError):
            return kept_keys(settings.state_dir / KEYS_FILE)
    except ConfigError:
        raise
    except ValueError as error:
        given = "HAI_SECRETS_KEYS" if settings.secrets_keys is not None else str(settings.state_dir / KEYS_FILE)
        raise ConfigError(f"{given}: {error}") from None


def _messengers(settings: MessagingSettings) -> Mapping[str, Messenger]:
    """What sends messages, by kind of channel."""
    tls = tls_of(settings.ca_file)
    found: dict[str, Messenger] = {
        "webhook": WebhookMessenger(tls, settings.webhook_networks),
        "sink": AppriseMessenger(SinkFolder(settings.sinks_dir)),
    }
    if settings.mail is not None:
        found["mail"] = SmtpMessenger(settings.mail, tls, link=settings.link)
    return found


def platform_image_of(settings: ClusterSettings) -> PlatformImage:
    """The image of ranks whose environment names none, with what the settings say of it."""
    return PlatformImage(image=settings.image, machine=settings.image_machine, glibc=settings.image_glibc)


def _local_cluster(
    settings: Settings, api_url: str, accounts: Accounts | None, timings: Timings, real: Sequence[int]
) -> LocalCluster:
    nodes = local_nodes(count=settings.nodes, gpus_per_node=settings.gpus_per_node, file=settings.nodes_file, real=real)
    return LocalCluster(
        LocalSettings(
            runs_dir=settings.state_dir / "runs",
            nodes=nodes,
            api_url=api_url,
            path_prefix=(str(Path(sys.executable).parent),),
            # Another process makes and removes folders of runs: the API must look at the disk each time.
            shared=settings.redis_url is not None or settings.role == "api",
            accounts=accounts,
        ),
        timings,
    )


def registries_of(settings: ClusterSettings, clock: Clock) -> Images | None:
    """The registries of images; None: no digest is asked for."""
    if not settings.resolve_images or settings.image_pull_policy == "Never":
        # Images that are never pulled are not in a registry.
        return None
    from hai_scheduler.adapters.images.registries import Registries

    return Registries(
        clock=clock,
        patience_s=settings.registry_timeout.total_seconds(),
        insecure=settings.insecure_registries,
        auth_file=settings.registry_auth_file,
    )


def _haienvs(settings: Settings, accounts: Accounts | None) -> Haienvs | None:
    """The environments of haienv below the folder of the settings; None: there is no such folder."""
    if settings.haienv_root is None:
        return None
    # In a pod the image counts, of which the service knows nothing.
    machine = None if settings.kubernetes is not None else this_machine()
    apart = settings.kubernetes is not None and settings.kubernetes.haienv_readable == "own"
    return HaienvFolder(settings.haienv_root, None if accounts is None else accounts.of, machine, apart=apart)


def identities_of(settings: Settings, accounts: Accounts | None, store: Store) -> Identities | None:
    """Who the processes of users are; None: all are this process's account."""
    if settings.kubernetes is None:
        return None if accounts is None else UnixIdentities(accounts)
    chosen = settings.identities
    if chosen.source == "file":
        return PasswdFiles(chosen)
    return ClaimedIdentities(chosen, store) if chosen.source == "claims" else OneAccount(chosen.gid)


def _snapshots(settings: Settings, clock: Clock, accounts: Accounts | None) -> Snapshots | None:
    """The snapshots of code below the folder of the settings; None: there is no such folder."""
    root = settings.snapshots_root
    if root is None:
        return None
    return SnapshotFolder(
        root,
        clock,
        settings.snapshot_limits,
        account_of=None if accounts is None else accounts.of,
        claim=None if settings.kubernetes is None else settings.snapshots_claim,
    )


def _workers(settings: Settings) -> ComputePool | None:
    """The workers of the API process, not started yet; None for the loop."""
    if settings.role == "loop":
        return None
    # What they compute, the loop does not: it would import the forecasts and the simulator.
    from hai_scheduler.worker.pool import ProcessWorkers, default_number

    return ProcessWorkers(Secret(settings.db_url), number=settings.workers or default_number())


async def _open_store(settings: Settings, timings: Timings) -> Store:
    try:
        return await open_store(settings.db_url, timings)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"HaiScheduler.db_url: {error.name} is missing: pip install 'hai-platform[postgres]'"
        ) from None
    except ValueError as error:
        raise ConfigError(f"HaiScheduler.db_url: {error}") from None


async def _open_bus(settings: Settings, clock: Clock) -> Bus:
    """The bus that reaches the other processes: those of this machine or, with Redis, of all replicas."""
    here = MemoryBus(clock)
    if settings.redis_url is None:
        with writable("state-dir", settings.state_dir / "bus", ConfigError):
            return await open_socket_bus(settings.state_dir / "bus", here)
    try:
        # The Redis client must be installed only where it is used.
        from hai_scheduler.adapters.system.redis_bus import open_bus

        return await open_bus(settings.redis_url.reveal(), here)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"HaiScheduler.redis_url: {error.name} is missing: pip install 'hai-platform[redis]'"
        ) from None
    except ValueError as error:
        raise ConfigError(f"HaiScheduler.redis_url: {error}") from None


async def close_world(world: World) -> None:
    """Close all adapters."""
    if world.workers is not None:
        await world.workers.close()
    await world.bus.close()
    await world.cluster.close()
    await world.store.close()


def accounts_of(settings: Settings) -> Accounts | None:
    """The Unix accounts of users on this machine; None: all tasks run as this process's account. Raises ConfigError."""
    if not settings.unix_users:
        return None
    try:
        return Accounts.open(settings.unix_users, users_folder(settings.state_dir))
    except (ValueError, OSError) as error:
        raise ConfigError(f"unix-users: {error}") from None


def locations_of(settings: Settings, accounts: Accounts | None) -> RankLocations:
    """The API's address and the folder of checkpoints, as ranks see them."""
    if settings.kubernetes is not None:
        return RankLocations(api_url=settings.kubernetes.api_url, checkpoint_root=settings.kubernetes.checkpoint_root)
    return RankLocations(
        api_url=f"http://{_reachable(settings.ip)}:{settings.port}{settings.prefix}api/v1",
        checkpoint_root=str(settings.state_dir / "checkpoints" if accounts is None else accounts.checkpoints),
    )


def _reachable(ip: str) -> str:
    """The address at which local ranks reach a service that listens on `ip`."""
    if ip in ("", "0.0.0.0", "::"):  # noqa: S104  # compared with, not bound to
        return "127.0.0.1"
    return f"[{ip}]" if ":" in ip else ip


async def open_kubernetes(
    settings: ClusterSettings, kept: LogSource, clock: Clock, *, acts: bool, timings: Timings | None = None
) -> Cluster:
    """Connect to the cluster, and check that it can be used.

    Args:
        settings: The settings of the cluster.
        kept: The logs that ranks have sent, for a cluster without a shared log volume.
        clock: The clock.
        acts: Whether runs are started and ended through this connection, or only read.
        timings: Takes how long requests take.

    Raises:
        ConfigError: The package is missing, or the cluster cannot be used; the message says what to do.
    """
    try:
        from hai_scheduler.adapters.kubernetes.client import ClusterUnusable
        from hai_scheduler.adapters.kubernetes.cluster import open_cluster
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"HaiScheduler.cluster: is kubernetes, and {error.name} is missing: pip install 'hai-platform[kubernetes]'"
        ) from None
    logs = SharedLogs(settings.log_dir) if settings.log_dir is not None else kept
    try:
        return await open_cluster(settings, logs, clock, acts=acts, timings=timings)
    except ClusterUnusable as error:
        raise ConfigError(str(error)) from None
