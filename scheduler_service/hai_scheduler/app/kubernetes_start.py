"""Opens a Kubernetes cluster. Only this module imports the Kubernetes package, and only when it is needed."""

from __future__ import annotations

from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.kubernetes.shared_logs import SharedLogs
from hai_scheduler.app.config import ConfigError
from hai_scheduler.ports.clock import Clock
from hai_scheduler.ports.cluster import Cluster
from hai_scheduler.ports.logs import LogSource
from hai_scheduler.ports.timings import Timings


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
