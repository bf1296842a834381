"""Tests on a real Kubernetes, whichever one KUBECONFIG names.

HAI_TEST_IMAGE       image with python3 (default python:3.12-slim), pulled as HAI_TEST_PULL_POLICY says
HAI_TEST_INIT_IMAGE  image that brings the supervisor; without one a ConfigMap of the test's namespace does
HAI_TEST_HOST        address at which pods reach this machine; found by itself where one address will do
HAI_TEST_PATIENCE    seconds that anything may take (default 300)

HAI_TEST_SHARED_PATH, HAI_TEST_TRAINING_IMAGE, HAI_TEST_TRAINING_PACKAGES  what scenarios need: kit.kubernetes.platform
HAI_TEST_CLUSTER_CONTROL  a program that kills nodes and the API server, and brings them back: kit.kubernetes.control
HAI_TEST_POLICIES    "yes" says that the cluster holds network policies: those of the chart are tried then

Every test, or module, has a namespace of its own, which is removed at its end. Nodes are changed by test_scenarios
alone, which cordons one and, with HAI_TEST_CLUSTER_CONTROL, kills one, and puts everything right: it is marked `alone`.
The contract suite and test_kubelets_since_127 add three tainted nodes for each test, whose kubelets are stand-ins, and
remove them.

`pytest -n 2 -m "not alone"` runs two groups at a time; SHARING says which modules are one group,
because they would take something from each other.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.groups import scheduling

if TYPE_CHECKING:
    from hai_scheduler.ports.cluster import Cluster
    from kit.kubernetes.harness import KubernetesHarness
    from kit.kubernetes.place import Place

# Its tests are run here once more.
pytest.register_assert_rewrite(
    "contract.test_cluster", "contract.test_cluster_logs", "contract.test_cluster_starts", "kit.kubernetes"
)

ABSENT = "no Kubernetes: name a cluster by KUBECONFIG to run these tests on it"


#: Modules that are one group, and what they would take from each other. Any other module is one by itself.
SHARING = {
    "cpus": (
        "test_chart",
        "test_chart_replicas",
        "test_chart_upgrade",
        "test_environments",
        "test_spawner",
        "test_words",
    ),
    "gpus": ("test_nodes", "test_replicas"),
}
GROUPS = {module: group for group, modules in SHARING.items() for module in modules}
#: They begin first.
LONGEST = ("cpus", "test_contract real kubelets", "gpus")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler that keeps each group of tests on one worker."""
    return scheduling(config, log, group_of)


def group_of(nodeid: str) -> str:
    """The group of a test, by its id. The contract suite is two: on each kind of kubelets."""
    file, _, name = nodeid.partition("::")
    module = Path(file).stem
    kind = re.search(r"\[(real kubelets|since 1\.27)", name)
    return f"{module} {kind[1]}" if kind else GROUPS.get(module, module)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first."""
    items.sort(key=lambda item: item.path.parent == Path(__file__).parent and group_of(item.nodeid) not in LONGEST)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip all tests of this folder in one place, so that the summary has one line for them."""
    if not os.environ.get("KUBECONFIG"):
        pytest.skip(ABSENT)


@pytest.fixture(scope="module")
def shared_place() -> Iterator[Place]:
    """A namespace for the tests of a module, which share a platform."""
    from kit.kubernetes.place import make_place, remove_place

    made = asyncio.run(make_place())
    yield made
    asyncio.run(remove_place(made))


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    """A namespace for one test: the next test need not wait until the pods of this one are gone."""
    from kit.kubernetes.place import make_place, remove_place

    made = await make_place()
    yield made
    await remove_place(made)


@pytest.fixture
async def harness(place: Place) -> AsyncIterator[KubernetesHarness]:
    from kit.kubernetes.harness import KubernetesHarness

    harness = KubernetesHarness(place)
    await harness.start()
    yield harness
    await harness.close()


@pytest.fixture
async def cluster(harness: KubernetesHarness) -> Cluster:
    return await harness.open()
