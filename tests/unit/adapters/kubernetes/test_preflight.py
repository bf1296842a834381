"""What must be so before a cluster is used, in words that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hai_scheduler.adapters.kubernetes.client import ClusterUnusable, connect
from hai_scheduler.adapters.kubernetes.preflight import NEEDS, check
from unit.adapters.kubernetes.things import some_settings


async def test_a_cluster_with_everything_is_accepted_and_nothing_is_left_in_it(server, clock) -> None:
    api = server.client(clock)
    await check(api, "runs")
    await api.close()
    assert not server.objects["services"]


async def test_every_right_that_is_missing_is_named_at_once(server, clock) -> None:
    server.forbidden = {("create", "secrets"), ("watch", "nodes")}
    api = server.client(clock)
    with pytest.raises(ClusterUnusable, match="create secrets; watch nodes") as error:
        await check(api, "runs")
    await api.close()
    assert "namespace runs" in str(error.value)


@pytest.mark.parametrize(
    ("foreign", "missing"),
    [
        (("*",), "list pods in all namespaces; watch pods; watch pods in all namespaces"),
        (("ops",), "list pods in namespace ops; watch pods; watch pods in namespace ops"),
    ],
)
async def test_f5_the_right_to_see_pods_of_others_is_asked_for_where_they_count(
    server, clock, foreign, missing
) -> None:
    server.forbidden = {("list", "pods"), ("watch", "pods")}
    api = server.client(clock)
    with pytest.raises(ClusterUnusable, match=missing):
        await check(api, "runs", foreign=foreign)
    with pytest.raises(ClusterUnusable) as error:
        await check(api, "runs")
    assert "all namespaces" not in str(error.value)
    assert "namespace ops" not in str(error.value)
    await api.close()


async def test_a_namespace_that_is_missing_is_named_with_the_remedy(server, clock) -> None:
    api = server.client(clock)
    with pytest.raises(ClusterUnusable, match="kubectl create namespace elsewhere"):
        await check(api, "elsewhere")
    await api.close()


@pytest.mark.parametrize("status", [401, 500])
async def test_a_server_that_does_not_let_us_in_is_named(server, clock, status) -> None:
    server.fail("POST", "/selfsubjectaccessreviews", status, times=1000)
    api = server.client(clock)
    with pytest.raises(ClusterUnusable, match="the API server cannot be used"):
        await check(api, "runs")
    await api.close()


@pytest.mark.parametrize("text", [None, "{", "apiVersion: v1\nkind: Config\n"], ids=["none", "broken", "empty"])
async def test_a_kubeconfig_that_does_not_work_is_named(tmp_path: Path, text) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ClusterUnusable, match=str(file)):
        await connect(some_settings(kubeconfig=str(file)))


async def test_a_context_that_does_not_exist_is_named(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    config = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"token": "sesame"}}],
    }
    file.write_text(yaml.safe_dump(config))
    with pytest.raises(ClusterUnusable, match="b") as error:
        await connect(some_settings(kubeconfig=str(file), context="b"))
    assert "sesame" not in str(error.value)
    client = await connect(some_settings(kubeconfig=str(file)))
    await client.close()


def test_secrets_are_never_read() -> None:
    (need,) = (need for need in NEEDS if need.resource == "secrets")
    assert need.verbs == ("create",)
