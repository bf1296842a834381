"""Tests on a real Kubernetes, whichever one KUBECONFIG names.

HAI_TEST_IMAGE       image with python3 (default python:3.12-slim), pulled as HAI_TEST_PULL_POLICY says
HAI_TEST_INIT_IMAGE  image that brings the supervisor; without one a ConfigMap of the test's namespace does
HAI_TEST_HOST        address at which pods reach this machine; found by itself where one address will do
HAI_TEST_PATIENCE    seconds that anything may take (default 300)

HAI_TEST_SHARED_PATH, HAI_TEST_TRAINING_IMAGE, HAI_TEST_TRAINING_PACKAGES  what scenarios need: kubernetes_kit.platform
HAI_TEST_CLUSTER_CONTROL  a program that kills nodes and the API server, and brings them back: kubernetes_kit.control

Every module has a namespace of its own, which is removed at its end. Nodes are changed by test_scenarios alone, which
cordons one and, with HAI_TEST_CLUSTER_CONTROL, kills one, and puts everything right. The contract suite and
test_kubelets_since_127 add three tainted nodes for each test, whose kubelets are stand-ins, and remove them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hai_scheduler.ports.cluster import Cluster
    from kubernetes_kit.harness import KubernetesHarness
    from kubernetes_kit.place import Place

# Its tests are run here once more.
pytest.register_assert_rewrite("contract.test_cluster", "contract.test_cluster_starts", "kubernetes_kit")

ABSENT = "no Kubernetes: name a cluster by KUBECONFIG to run these tests on it"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip everything here in one place, so that it is one line of the summary."""
    if not os.environ.get("KUBECONFIG"):
        pytest.skip(ABSENT)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    from kubernetes_kit.place import make_place, remove_place

    made = asyncio.run(make_place())
    yield made
    asyncio.run(remove_place(made))


@pytest.fixture
async def harness(place: Place) -> AsyncIterator[KubernetesHarness]:
    from kubernetes_kit.harness import KubernetesHarness

    harness = KubernetesHarness(place)
    await harness.start()
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: KubernetesHarness) -> Cluster:
    return await harness.open()
