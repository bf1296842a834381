"""Hub and scheduler reach the API server at its own address, which the values say or the cluster."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hai_hub.cluster.helm import NOT_OURS
from kit.helm.api_server import cluster
from kit.helm.rendering import API_SERVER, CHART, ON_SERVER, Object, Render, objects_of

Run = Callable[..., subprocess.CompletedProcess[str]]
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
OBJECTS = {
    SERVICE: {
        "kind": "Service",
        "apiVersion": "v1",
        "spec": {"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1", "fd00::1"], "ports": [{"port": 443}]},
    },
    ENDPOINTS: {
        "kind": "Endpoints",
        "apiVersion": "v1",
        "subsets": [{"addresses": [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2"}], "ports": [{"port": 6443}]}],
    },
}
ASK_NOBODY: dict[str, Any] = {"apiServer": {"cidrs": []}}
OFF = {"networkPolicy": {"egressAllowRules": {"apiServer": False}}}


def ways(policy: Object) -> list[tuple[list[str], list[int]]]:
    """Addresses and ports of the rules that open some ports of some addresses, DNS left out."""
    return [
        ([peer["ipBlock"]["cidr"] for peer in rule["to"]], [entry["port"] for entry in rule["ports"]])
        for rule in policy["spec"]["egress"]
        if "ports" in rule and all("ipBlock" in peer for peer in rule["to"])
    ]


def policies(text: str) -> dict[str, Object]:
    return {entry["metadata"]["name"]: entry for entry in objects_of(text) if entry["kind"] == "NetworkPolicy"}


def asked(run_helm: Run, kubeconfig: Path, values: dict[str, Any]) -> dict[str, Object]:
    """The policies as an installation on that cluster would make them."""
    result = run_helm(*ON_SERVER, values=values, kubeconfig=kubeconfig)
    assert result.returncode == 0, result.stderr
    return policies(result.stdout)


def test_what_is_written_is_open_and_no_other_address(render: Render) -> None:
    made = render({"scheduler": {"separate": True}, "apiServer": {"cidrs": ["10.9.0.0/24"], "ports": [6443]}})
    for name in ("hub", "scheduler"):
        assert ways(made.one("NetworkPolicy", name)) == [(["10.9.0.0/24"], [6443])]
    assert ways(render({}).one("NetworkPolicy", "hub")) == [([API_SERVER], [443, 6443])]


def test_the_cluster_says_where_it_is(run_helm: Run, tmp_path: Path) -> None:
    with cluster(tmp_path, OBJECTS) as kubeconfig:
        made = asked(run_helm, kubeconfig, {**ASK_NOBODY, "scheduler": {"separate": True}})
    for name in ("hub", "scheduler"):
        assert ways(made[name]) == [
            (["10.96.0.1/32", "fd00::1/128"], [443]),
            (["192.0.2.1/32", "192.0.2.2/32"], [6443]),
        ]


def test_endpoints_are_not_asked_for_where_there_is_a_slice(run_helm: Run, tmp_path: Path) -> None:
    """Kubernetes 1.33 and newer warn of who asks for them."""
    one = {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "endpoints": [{"addresses": ["192.0.2.7"]}, {"addresses": ["192.0.2.8"]}],
        "ports": [{"port": 6443}],
    }
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
    seen: list[str] = []
    with cluster(tmp_path, {**OBJECTS, path: one}, seen) as kubeconfig:
        made = asked(run_helm, kubeconfig, ASK_NOBODY)
    assert path in seen
    assert ENDPOINTS not in seen
    assert ways(made["hub"])[1:] == [(["192.0.2.7/32", "192.0.2.8/32"], [6443])]


def test_what_is_written_wins_over_what_the_cluster_says(run_helm: Run, tmp_path: Path) -> None:
    with cluster(tmp_path, OBJECTS) as kubeconfig:
        made = asked(run_helm, kubeconfig, {"apiServer": {"cidrs": ["10.9.0.0/24"]}})
    assert ways(made["hub"]) == [(["10.9.0.0/24"], [443, 6443])]


def test_without_a_word_of_either_nothing_is_opened_and_helm_says_what_to_write(run_helm: Run) -> None:
    result = run_helm("template", "hai", str(CHART), values=ASK_NOBODY)
    assert result.returncode != 0
    assert "apiServer.cidrs is empty" in result.stderr
    assert "kubectl get endpointslices -n default" in result.stderr


def test_the_rule_may_be_off_where_something_else_opens_the_way(run_helm: Run) -> None:
    values = {**ASK_NOBODY, "hub": OFF, "scheduler": {**OFF, "separate": True}}
    result = run_helm("template", "hai", str(CHART), values=values)
    assert result.returncode == 0, result.stderr
    assert all(ways(policies(result.stdout)[name]) == [] for name in ("hub", "scheduler"))


@pytest.mark.parametrize("cidr", ["kubernetes.default", "10.0.0.1"])
def test_what_is_no_network_is_refused(run_helm: Run, cidr: str) -> None:
    result = run_helm("template", "hai", str(CHART), values={"apiServer": {"cidrs": [cidr]}})
    assert result.returncode != 0
    assert "/apiServer/cidrs/0" in result.stderr


def test_passwords_of_an_older_chart_are_kept_and_roles_get_their_own(run_helm: Run, tmp_path: Path) -> None:
    """What `helm upgrade` finds of an installation whose database had one role."""
    before = base64.b64encode(b"password-of-the-older-chart").decode()
    made_by_helm = {
        "name": "postgresql",
        "namespace": "platform",
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "hai", "meta.helm.sh/release-namespace": "platform"},
    }
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": made_by_helm, "data": {"password": before}}
    with cluster(tmp_path, {**OBJECTS, "/api/v1/namespaces/platform/secrets/postgresql": secret}) as kubeconfig:
        result = run_helm(*ON_SERVER, values=ASK_NOBODY, kubeconfig=kubeconfig)
    assert result.returncode == 0, result.stderr
    (data,) = (
        entry["data"]
        for entry in objects_of(result.stdout)
        if entry["kind"] == "Secret" and entry["metadata"]["name"] == "postgresql"
    )
    assert data["password"] == before
    assert len({data["password"], data["hub-password"], data["scheduler-password"]}) == 3


def test_helm_says_of_a_namespace_that_is_there_what_hai_cluster_understands(run_helm: Run, tmp_path: Path) -> None:
    there = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "platform-work"}}
    with cluster(tmp_path, {**OBJECTS, "/api/v1/namespaces/platform-work": there}) as kubeconfig:
        result = run_helm(*ON_SERVER, values=ASK_NOBODY, kubeconfig=kubeconfig)
    found = NOT_OURS.search(result.stderr)
    assert found is not None, result.stderr
    assert found.groups() == ("Namespace", "platform-work")
