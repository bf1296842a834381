"""Who may reach whom: everything is closed, and what is open is named."""

from __future__ import annotations

from typing import Any

import pytest

from kit.helm.matrix import MATRIX
from kit.helm.rendering import Object, Render


def policy(render: Render, name: str, values: dict[str, Any] | None = None) -> Object:
    spec: Object = render(values or {}).one("NetworkPolicy", name)["spec"]
    return spec


def reached(rules: list[Object], port: object) -> list[Object]:
    """The peers of the rules that name a port."""
    return [
        peer
        for rule in rules
        if any(entry["port"] == port for entry in rule.get("ports", []))
        for peer in rule.get("from", rule.get("to", []))
    ]


def components(peers: list[Object]) -> set[str]:
    """The platform's own among the peers, by component."""
    labels = [peer.get("podSelector", {}).get("matchLabels", {}) for peer in peers]
    return {entry["app.kubernetes.io/component"] for entry in labels if "app.kubernetes.io/component" in entry}


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
def test_every_policy_closes_both_directions(render: Render, values: dict[str, Any]) -> None:
    for entry in render(values).all("NetworkPolicy"):
        assert entry["spec"]["policyTypes"] == ["Ingress", "Egress"], entry["metadata"]["name"]


@pytest.mark.parametrize("separate", [False, True], ids=["in the hub's pod", "separate"])
def test_every_pod_of_the_platform_has_a_policy(render: Render, separate: bool) -> None:
    made = render({"scheduler": {"separate": separate}})
    selected = [entry["spec"]["podSelector"].get("matchLabels", {}) for entry in made.all("NetworkPolicy")]
    for entry in made.all("Deployment") + made.all("StatefulSet"):
        labels = entry["spec"]["template"]["metadata"]["labels"].items()
        assert any(wanted and wanted.items() <= labels for wanted in selected), entry["metadata"]["name"]


def test_pods_without_a_policy_of_their_own_among_the_workloads_have_no_network(render: Render) -> None:
    spec = policy(render, "default-deny")
    assert spec == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_in_a_namespace_that_others_share_nothing_of_theirs_is_closed(render: Render) -> None:
    made = render({"workloads": {"namespace": "platform"}})
    assert "default-deny" not in made.names("NetworkPolicy")
    assert all(entry["spec"]["podSelector"] for entry in made.all("NetworkPolicy"))


def test_training_pods_reach_the_scheduler_each_other_and_dns(render: Render) -> None:
    spec = policy(render, "task", {"tasks": {"networkPolicy": {"spot": False}}, "scheduler": {"separate": True}})
    ranks = {
        "podSelector": {
            "matchLabels": {"app.kubernetes.io/managed-by": "hai"},
            "matchExpressions": [{"key": "hai.jupyter.org/run", "operator": "Exists"}],
        }
    }
    assert spec["ingress"] == [{"from": [ranks]}]
    to_ranks, to_scheduler, to_dns = spec["egress"]
    assert to_ranks == {"to": [ranks]}
    assert to_scheduler["ports"] == [{"port": 8082}]
    assert components(to_scheduler["to"]) == {"api"}
    assert {entry["port"] for entry in to_dns["ports"]} == {53}


def test_spot_containers_are_training_pods_that_reach_the_hub(render: Render) -> None:
    assert components(reached(policy(render, "task")["egress"], 8081)) == {"hub"}
    closed = policy(render, "task", {"tasks": {"networkPolicy": {"spot": False}}, "scheduler": {"separate": True}})
    assert reached(closed["egress"], 8081) == []


def test_the_internet_is_open_to_training_pods_by_a_switch(render: Render) -> None:
    def blocks(internet: bool) -> list[str]:
        spec = policy(render, "task", {"tasks": {"networkPolicy": {"internet": internet}}})
        rules = [rule for rule in spec["egress"] if "ports" not in rule]
        return [peer["ipBlock"]["cidr"] for rule in rules for peer in rule["to"] if "ipBlock" in peer]

    assert blocks(False) == []
    assert blocks(True) == ["0.0.0.0/0", "::/0"]


@pytest.mark.parametrize("name", ["hub", "singleuser"])
def test_the_metadata_server_of_a_cloud_is_closed(render: Render, name: str) -> None:
    peers = [peer for rule in policy(render, name)["egress"] for peer in rule.get("to", [])]
    blocks = [peer["ipBlock"] for peer in peers if "ipBlock" in peer]
    for block in blocks:
        if block["cidr"] in ("0.0.0.0/0", "169.254.0.0/16"):
            assert {"169.254.0.0/16", "169.254.169.254/32"} & set(block["except"])


def test_only_the_hub_tells_the_proxy_its_routes(render: Render) -> None:
    assert components(reached(policy(render, "proxy")["ingress"], "api")) == {"hub"}


def test_databases_are_reached_by_those_who_use_them(render: Render) -> None:
    values = {"scheduler": {"separate": True}}
    assert components(reached(policy(render, "postgresql", values)["ingress"], "postgresql")) == {
        "api",
        "hub",
        "scheduler",
    }
    assert components(reached(policy(render, "redis", values)["ingress"], "redis")) == {"api", "scheduler"}
    assert "egress" not in policy(render, "postgresql", values)
    assert "egress" not in policy(render, "redis", values)


def test_no_pod_reaches_the_scheduling_loop_and_it_does_not_reach_the_hub(render: Render) -> None:
    spec = policy(render, "scheduler", {"scheduler": {"separate": True}})
    assert spec["ingress"] == []
    assert "hub" not in {name for rule in spec["egress"] for name in components(rule.get("to", []))}


def test_the_pod_that_answers_for_the_scheduler_lets_tasks_in(render: Render) -> None:
    for separate, name in ((False, "hub"), (True, "api")):
        spec = policy(render, name, {"scheduler": {"separate": separate}})
        labels = [peer["podSelector"]["matchLabels"] for peer in reached(spec["ingress"], "scheduler")]
        assert {"app.kubernetes.io/managed-by": "hai"} in labels
