"""The stock kube-scheduler with the same pods."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from kubernetes.aio import client

from bench.cluster.binding import Bindings
from bench.cluster.fake_nodes import LABEL
from kit.kubernetes.simulated_nodes import AT_ONCE


def pod(number: int, gpus: int, resource: str) -> dict[str, Any]:
    """A pod that wants a whole node, any of those of the benchmark."""
    want = {resource: str(gpus)}
    return {
        "metadata": {"name": f"stock-{number}"},
        "spec": {
            "restartPolicy": "Never",
            "nodeSelector": {LABEL: "node"},
            "automountServiceAccountToken": False,
            "containers": [{"name": "rank", "image": "bench", "resources": {"limits": want, "requests": want}}],
        },
    }


async def pods_a_second(api: client.ApiClient, namespace: str, count: int, gpus: int, resource: str) -> float:
    """Pods bound a second, from the first request until all pods are bound."""
    core, limit = client.CoreV1Api(api), asyncio.Semaphore(AT_ONCE)

    async def create(number: int) -> None:
        async with limit:
            await core.create_namespaced_pod(namespace, pod(number, gpus, resource))

    async with Bindings(api, namespace).watching() as seen:
        began = time.monotonic()
        await asyncio.gather(*(create(number) for number in range(count)))
        await seen.until(lambda b: len(b.bound) >= count, f"binding {count} pods")
        return count / (max(seen.bound.values()) - began)
