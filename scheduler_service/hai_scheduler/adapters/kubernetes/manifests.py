"""Manifests of a run: a Service, a Secret and a pod for each rank, as plain dictionaries. Pure functions.

All objects are in core/v1 as of Kubernetes 1.20.
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any, Final

from hai_client.rank.starting.environment import PRIVATE_PREFIXES
from hai_client.rank.starting.secrets import FILE
from hai_scheduler.adapters.kubernetes import account
from hai_scheduler.adapters.kubernetes.builds import makes_folder, variables_of
from hai_scheduler.adapters.kubernetes.names import (
    MANAGED,
    MANAGER,
    NODES,
    RANK,
    RUN,
    TASK,
    parts_of,
    pod_name,
    run_labels,
    run_name,
    run_selector,
)
from hai_scheduler.adapters.kubernetes.pod_parts import (
    CLIENT,
    HAI,
    SPEC,
    Volumes,
    container_security,
    fetching,
    local_pin,
    master_port,
    network,
    placement,
    variables,
)
from hai_scheduler.adapters.kubernetes.resources import Capacity, gpus_of, gpus_wanted, resources_of
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.shared.leaving import leaving_of
from hai_scheduler.adapters.shared.secret_file import secret_file
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.cluster import LaunchOrder

#: Name of the container that a rank runs in.
CONTAINER: Final = "rank"
INIT_CONTAINER: Final = "hai-init"
#: The init container copies one file. Without a request of its own, its limit would count as its request.
INIT_RESOURCES: Final = {
    "requests": {"cpu": "0", "memory": "0", "ephemeral-storage": "0"},
    "limits": {"memory": "128Mi", "ephemeral-storage": "64Mi"},
}
#: Asks cluster-autoscaler and Karpenter not to remove a node of their own accord while a rank runs there.
STAYING: Final = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
_SPEC_SCHEMA: Final = 1


def service(launch: LaunchOrder, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the run's headless Service: it gives its pods names, owns them, and is the record of the run.

    Args:
        launch: The run.
        annotations: More annotations of the Service.
    """
    name, labels = run_name(launch.run_id), run_labels(launch.run_id, launch.user, launch.origin)
    # A single rank has no other to find. Without a selector Kubernetes keeps no list of addresses, which would be half
    # of all that it writes for such a run.
    selector = run_selector(launch.run_id).split(",") if len(launch.nodes) > 1 else ()
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {NODES: json.dumps(list(launch.nodes)), **(annotations or {})},
        },
        "spec": {
            "clusterIP": "None",
            # Ranks look for each other before they are ready, and no readiness probe says when they are.
            "publishNotReadyAddresses": True,
            **({"selector": dict(part.split("=", 1) for part in selector)} if selector else {}),
        },
    }


def tombstone(run_id: RunId, annotations: dict[str, str]) -> dict[str, Any]:
    """Return the Service of a run that was ended before it was launched: it has no nodes and selects no pods."""
    task, number = parts_of(run_id)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": run_name(run_id),
            "labels": {MANAGED: MANAGER, TASK: task, RUN: number},
            "annotations": annotations,
        },
        "spec": {"clusterIP": "None"},
    }


def owner(made: dict[str, Any]) -> dict[str, Any]:
    """Return an owner reference to a created Service: objects that carry it are deleted with the Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "name": made["metadata"]["name"],
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": False,
    }


def secret(launch: LaunchOrder, settings: ClusterSettings, owned_by: dict[str, Any]) -> dict[str, Any]:
    """Return the Secret that all supervisors of the run read: token, spec with variables, and secrets of the user.

    The service creates it and may not read it.
    """
    data = {"spec.json": json.dumps(spec(launch, settings)), "token": launch.token.reveal()}
    if (secrets := secret_file(launch)) is not None:
        data[FILE] = secrets
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": run_name(launch.run_id),
            "labels": run_labels(launch.run_id, launch.user, launch.origin),
            "ownerReferences": [owned_by],
        },
        "type": "Opaque",
        "stringData": data,
    }


def spec(launch: LaunchOrder, settings: ClusterSettings) -> dict[str, Any]:
    """Return what `hai_client.rank` in a pod reads of its run; the pod's own variables say which rank it is."""
    home = account.home_of(launch)
    env = {**({} if home is None else {"HOME": home}), **variables_of(launch, settings), **launch.env}
    # Without devices of its own a rank has no RDMA that could fall back.
    memlock = launch.fabric.memlock_bytes if launch.fabric is not None and launch.fabric.resources else 0
    return {
        "schema": _SPEC_SCHEMA,
        "run_id": launch.run_id,
        "task_id": launch.task_id,
        "user": launch.user,
        "nodes": list(launch.nodes),
        "command": list(launch.command),
        "cwd": launch.cwd,
        "env": {name: value for name, value in env.items() if not name.startswith(PRIVATE_PREFIXES)},
        "has_secrets": bool(launch.secrets),
        "path_prefix": [str(PurePosixPath(launch.python).parent)] if launch.python else [],
        **leaving_of(launch),
        "group": launch.group,
        "ranks_per_node": launch.ranks_per_node,
        "api_url": settings.api_url,
        "master_port": master_port(launch, settings),
        "grace_s": launch.grace.total_seconds(),
        "term_wait_s": settings.term_wait_s,
        "log_max_bytes": settings.log_max_bytes,
        "log_parts": settings.log_parts,
        "upload_log": not settings.log_claim,
        **({"memlock_bytes": memlock} if memlock else {}),
    }


def pod(
    launch: LaunchOrder, rank: int, capacity: Capacity, settings: ClusterSettings, owned_by: dict[str, Any]
) -> dict[str, Any]:
    """Return the pod of a rank.

    Args:
        launch: The run.
        rank: The number of the rank.
        capacity: What the rank's node has: a whole-node task requests all its GPUs (U2). A shared-node task requests
            a number of GPUs; the device plugin decides which ones, not `LaunchOrder.gpus`.
        settings: The settings of the cluster.
        owned_by: The owner reference that `owner` returns.
    """
    name = run_name(launch.run_id)
    volumes = Volumes(launch, rank, capacity, settings)
    annotations = {
        **STAYING,
        **settings.extra_annotations,
        **account.texts(launch, settings),
        **(launch.fabric.annotations if launch.fabric else {}),
    }
    body: dict[str, Any] = {
        "restartPolicy": "Never",
        "hostname": f"rank-{rank}",
        "subdomain": name,
        "terminationGracePeriodSeconds": settings.grace_s(launch.grace),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": account.pod_security(launch, capacity, settings),
        **placement(launch.nodes[rank], settings),
        **network(launch),
        "tolerations": [dict(toleration) for toleration in settings.tolerations],
        "imagePullSecrets": [{"name": secret_name} for secret_name in settings.image_pull_secrets],
        "initContainers": _init_containers(launch, settings),
        "containers": [_container(launch, rank, capacity, settings, volumes)],
        "volumes": volumes.volumes,
        "runtimeClassName": settings.runtime_class,
        "priorityClassName": settings.priority_class,
        "serviceAccountName": settings.service_account,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(launch.run_id, rank),
            "labels": {
                **settings.extra_labels,
                **run_labels(launch.run_id, launch.user, launch.origin),
                RANK: str(rank),
            },
            "annotations": annotations,
            "ownerReferences": [owned_by],
        },
        # Empty fields are left out, so that the API server's defaults apply.
        "spec": {key: value for key, value in body.items() if value not in ("", [])},
    }


def _container(
    launch: LaunchOrder, rank: int, capacity: Capacity, settings: ClusterSettings, volumes: Volumes
) -> dict[str, Any]:
    gpus = sum(gpus_of(capacity, gpus_wanted(launch, rank)).values())
    return {
        "name": CONTAINER,
        "image": launch.image or settings.image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": [settings.python, f"{HAI}/{CLIENT}", "rank", "--pod", SPEC],
        "workingDir": "/",
        "env": variables(launch, rank, gpus, settings),
        "resources": resources_of(launch, rank, capacity, settings),
        "securityContext": container_security(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": volumes.mounts,
    }


def _init_containers(launch: LaunchOrder, settings: ClusterSettings) -> list[dict[str, Any]]:
    pin = local_pin(launch, settings)
    environments = makes_folder(launch, settings) + ([] if pin is None else [fetching(launch, pin, settings)])
    if settings.client_config_map:
        return environments
    return [
        *environments,
        {
            "name": INIT_CONTAINER,
            "image": settings.init_image,
            "imagePullPolicy": settings.image_pull_policy,
            "resources": INIT_RESOURCES,
            "securityContext": {**container_security(), "readOnlyRootFilesystem": True},
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [{"name": "hai", "mountPath": HAI}],
        },
    ]
