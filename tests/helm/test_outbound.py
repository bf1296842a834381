"""What pods reach outside of the cluster, by `outbound` of the values; HAI_WRITE_GOLDEN=1 rewrites the golden files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from traitlets.config import Config

from hai_client.outbound import AUTHORITY_VARIABLES, PROXY_VARIABLES, authority_variables, host_of
from hai_hub.cluster import install
from hai_hub.cluster.chart_env import ChartEnv
from hai_hub.cluster.install import configure
from hai_hub.cluster.servers import server_traits
from hai_scheduler.adapters.kubernetes import manifests
from kit.builders import a_launch
from kit.helm.api_server import cluster
from kit.helm.pods import environment, secrets_of
from kit.helm.rendering import CHART, ON_SERVER, Object, Render, Rendered, Values
from unit.adapters.kubernetes.things import OWNER, capacity, some_settings

GOLDEN = Path(__file__).parent / "golden"
PROXY = "http://proxy.example.org:3128"
THERE = [{"ipBlock": {"cidr": "10.1.2.3/32"}}]
NAMES = {one for name in PROXY_VARIABLES for one in (name, name.lower())} | set(AUTHORITY_VARIABLES)
OURS = {"configMap": "our-authorities", "key": "bundle.pem"}
WAYS: dict[str, Values] = {
    "none": {"outbound": {"internet": "none", "authorities": {"secret": "our-authorities"}}},
    "proxy": {
        "outbound": {
            "internet": "proxy",
            "proxy": {"address": PROXY, "to": THERE},
            "noProxy": [".example.org"],
            "authorities": OURS,
        }
    },
    "open": {"outbound": {"internet": "open"}},
}
#: Pods of the platform that ask for something outside.
ASKING = ("hub", "scheduler", "api")
#: Policies of those, of tasks (and of builds, which are tasks), and of servers.
POLICIES = (*ASKING, "task", "singleuser")
Make = Callable[..., ChartEnv]
Run = Callable[..., subprocess.CompletedProcess[str]]


def settings_of(made: Rendered) -> dict[str, Any]:
    config = json.loads(made.one("ConfigMap", "scheduler")["data"]["config.json"])["KubernetesSettings"]
    return {name: config[name] for name in config if name.startswith(("internet", "proxy", "no_proxy", "authorities"))}


def rank_of(made: Rendered) -> Object:
    """The pod of a rank by the chart's settings."""
    told = settings_of(made)
    settings = some_settings(**{name: tuple(one) if isinstance(one, list) else one for name, one in told.items()})
    return manifests.pod(a_launch(), 0, capacity(), settings, OWNER)["spec"]


def seen(spec: Object) -> dict[str, Any]:
    """What a pod's spec has for the way out."""
    container = spec["containers"][0]
    return {
        "env": {one["name"]: one["value"] for one in container["env"] if one["name"] in NAMES},
        "mounts": [one for one in container["volumeMounts"] if "authorities" in one["name"]],
        "volumes": [one for one in spec["volumes"] if "authorities" in one["name"]],
    }


def addresses(made: Rendered, name: str) -> list[Object]:
    """The rules of a policy for addresses outside, but those for DNS."""
    rules = made.one("NetworkPolicy", name)["spec"]["egress"]
    outside = [rule for rule in rules if any("ipBlock" in peer for peer in rule.get("to", []))]
    return [rule for rule in outside if all(entry["port"] != 53 for entry in rule.get("ports", []))]


def way(made: Rendered, around: ChartEnv) -> dict[str, Any]:
    """All of the chart that is about the way out."""
    kube = server_traits(around)["KubeSpawner"]
    pods = dict(made.pods())
    return {
        "egress": {name: addresses(made, name) for name in (*POLICIES, "proxy")},
        "pods": {name: seen(pods[name]) for name in ASKING},
        "settings": settings_of(made),
        "rank": seen(rank_of(made)),
        "server": {
            "env": {name: one for name, one in kube.get("environment", {}).items() if name in NAMES},
            "mounts": [one for one in kube["volume_mounts"] if "authorities" in one["name"]],
            "volumes": [one for one in kube["volumes"] if "authorities" in one["name"]],
        },
    }


def separate(values: Values) -> Values:
    return {"scheduler": {"separate": True}, **values}


@pytest.mark.parametrize("name", WAYS)
def test_the_chart_is_as_its_golden_file_says(render: Render, chart_env: Make, name: str) -> None:
    values = separate(WAYS[name])
    text = yaml.safe_dump(way(render(values), chart_env(values)), sort_keys=False, width=120)
    file = GOLDEN / f"outbound-{name}.yaml"
    if "HAI_WRITE_GOLDEN" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert yaml.safe_load(text) == yaml.safe_load(file.read_text(encoding="utf-8"))


def public(made: Rendered, name: str) -> bool:
    peers = [peer for rule in addresses(made, name) for peer in rule["to"]]
    return any(peer.get("ipBlock", {}).get("cidr") == "0.0.0.0/0" for peer in peers)


@pytest.mark.parametrize(
    ("values", "reaching"),
    [
        ({}, {"hub", "singleuser"}),
        (WAYS["none"], set()),
        (WAYS["proxy"], set()),
        (WAYS["open"], set(POLICIES)),
        ({**WAYS["none"], "tasks": {"networkPolicy": {"internet": True}}}, {"task"}),
        (
            {**WAYS["open"], "singleuser": {"networkPolicy": {"egressAllowRules": {"nonPrivateIPs": False}}}},
            set(POLICIES) - {"singleuser"},
        ),
    ],
    ids=["the default", "none", "proxy", "open", "none but tasks", "open but servers"],
)
def test_one_value_says_who_reaches_the_internet_and_a_component_may_differ(
    render: Render, values: Values, reaching: set[str]
) -> None:
    made = render(separate(values))
    assert {name for name in (*POLICIES, "proxy") if public(made, name)} == reaching


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({}, "none"),
        *((values, name) for name, values in WAYS.items()),
        ({"tasks": {"networkPolicy": {"internet": True}}}, "open"),
        ({**WAYS["none"], "tasks": {"networkPolicy": {"enabled": False}}}, "open"),
    ],
)
def test_supervisors_are_told_what_their_ranks_reach(render: Render, values: Values, word: str) -> None:
    assert settings_of(render(values))["internet"] == word


@pytest.mark.parametrize("addresses", ["dns", "environment"])
@pytest.mark.parametrize("apart", [True, False])
def test_no_pod_asks_the_platform_by_the_proxy(
    render: Render, chart_env: Make, tmp_path: Path, addresses: str, apart: bool
) -> None:
    values = {**WAYS["proxy"], "serviceAddresses": addresses, "scheduler": {"separate": apart}}
    made = render(values)
    for name, pod in made.pods():
        (tmp_path / name).mkdir()
        env = environment(pod, secrets_of(made), tmp_path / name) if name in ASKING else {}
        without = env.get("NO_PROXY", "").split(",")
        for told in (one for one in env.values() if "://" in one and one != PROXY):
            host = host_of(told)
            assert host in without or host.startswith("$("), (name, told, without)
        if name in ASKING and (apart or name == "hub"):
            assert "$(KUBERNETES_SERVICE_HOST)" in without
            assert env["NO_PROXY"] == env["no_proxy"]
    around = replace(chart_env(values), api_url="http://10.9.8.7:8082/x", hub_url="http://10.9.8.6:8081")
    server = server_traits(around)["KubeSpawner"]["environment"]
    assert {"10.9.8.7", "10.9.8.6", ".svc", ".example.org"} <= set(server["NO_PROXY"].split(","))
    # A kubelet expands nothing in a file: supervisors add the service's address.
    assert not [host for host in settings_of(made)["no_proxy"] if "$" in host]


def test_names_of_variables_are_those_that_servers_and_tasks_have(render: Render) -> None:
    env = seen(dict(render(WAYS["proxy"]).pods())["hub"])["env"]
    assert set(env) == NAMES - {"ALL_PROXY", "all_proxy"}
    assert {name: env[name] for name in AUTHORITY_VARIABLES} == authority_variables()


def test_a_scheduler_in_the_hubs_pod_has_the_way_out_too(chart_env: Make) -> None:
    around = chart_env(WAYS["proxy"])
    assert NAMES - {"ALL_PROXY", "all_proxy"} <= set(around.scheduler_environment)


@pytest.mark.parametrize(
    ("address", "cidr"), [("http://10.1.2.3:3128/", "10.1.2.3/32"), ("https://[fd00::7]:8443", "fd00::7/128")]
)
def test_a_proxy_that_is_a_number_needs_no_more(render: Render, address: str, cidr: str) -> None:
    made = render({"outbound": {"internet": "proxy", "proxy": {"address": address}}})
    for name in ("hub", "task", "singleuser"):
        rules = made.one("NetworkPolicy", name)["spec"]["egress"]
        port = int(address.strip("/").rpartition(":")[2])
        assert {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"port": port}]} in rules
    assert settings_of(made)["proxy"] == address.rstrip("/")


CANARY = "canary-of-the-proxy"


@pytest.mark.parametrize(
    ("outbound", "more", "said"),
    [
        ({"internet": "proxy"}, {}, "write the address of the proxy in outbound.proxy.address"),
        ({"proxy": {"address": PROXY}}, {}, 'count only with outbound.internet: proxy, and it is ""'),
        ({"internet": "open", "noProxy": [".x"]}, {}, 'count only with outbound.internet: proxy, and it is "open"'),
        (
            {"internet": "none", "proxy": {"to": THERE}},
            {},
            'count only with outbound.internet: proxy, and it is "none"',
        ),
        (
            {"internet": "proxy", "proxy": {"address": PROXY}},
            {},
            "network policies know no names such as proxy.example",
        ),
        (
            {"internet": "proxy", "proxy": {"address": f"http://ann:{CANARY}@proxy:1", "to": THERE}},
            {},
            "outbound.proxy.address has a user or a password",
        ),
        (
            {"internet": "proxy", "proxy": {"address": "proxy:3128"}},
            {},
            "is no address of a proxy: write http://HOST:PO",
        ),
        ({"internet": "proxy", "proxy": {"address": "http://proxy"}}, {}, "is no address of a proxy"),
        ({"internet": "proxy", "proxy": {"address": "http://p:1/x"}}, {}, "is no address of a proxy"),
        ({"internet": "proxy", "proxy": {"address": "http://p:1\n2"}}, {}, "is no address of a proxy"),
        ({"internet": "proxy", "proxy": {"address": "http://p:70000"}}, {}, "has the port 70000: write one of 1 to"),
        ({"internet": "proxy", "noProxy": ["a,b"]}, {}, "noProxy"),
        ({"internet": "proxy", "noProxy": ["*.example.org"]}, {}, "noProxy"),
        ({"internet": "some"}, {}, "internet"),
        ({"authorities": {"configMap": "a", "secret": "b"}}, {}, "names the ConfigMap a and the Secret b"),
        ({}, {"hub": {"extraEnv": {"https_proxy": PROXY}}}, "hub.extraEnv.https_proxy: a proxy without the names of"),
        ({}, {"scheduler": {"extraEnv": {"NO_PROXY": "x"}}}, "scheduler.extraEnv.NO_PROXY: "),
        ({}, {"singleuser": {"extraEnv": {"ALL_PROXY": "x"}}}, "singleuser.extraEnv.ALL_PROXY: "),
    ],
)
def test_what_is_wrong_is_refused_with_what_to_write(
    run_helm: Run, outbound: dict[str, Any], more: Values, said: str
) -> None:
    result = run_helm("template", "hai", str(CHART), values={"outbound": outbound, **more})
    assert (result.returncode, said in result.stderr) == (1, True), result.stderr
    assert CANARY not in result.stderr


IN_BOTH = ("platform", "platform-work")


@pytest.mark.parametrize(
    ("namespaces", "there", "key", "said"),
    [
        (IN_BOTH, IN_BOTH, "bundle.pem", None),
        (("platform",), ("platform",), "bundle.pem", None),
        ((), (), "", None),
        (IN_BOTH, ("platform",), "bundle.pem", "there is no ConfigMap our-authorities in namespace platform-work"),
        (IN_BOTH, (), "bundle.pem", "there is no ConfigMap our-authorities in namespace platform, and pods would wait"),
        (IN_BOTH, IN_BOTH, "ca.crt", "in namespace platform has no key bundle.pem: it has ca.crt"),
    ],
    ids=["there", "the first time", "no cluster", "one is missing", "both are missing", "another key"],
)
def test_pods_that_would_wait_for_a_file_are_not_installed(
    run_helm: Run, tmp_path: Path, namespaces: tuple[str, ...], there: tuple[str, ...], key: str, said: str | None
) -> None:
    # As Helm made it.
    ours = {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "hai", "meta.helm.sh/release-namespace": "platform"},
    }
    objects: dict[str, Object] = {
        f"/api/v1/namespaces/{name}": {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name, **ours}}
        for name in namespaces
    }
    objects |= {
        f"/api/v1/namespaces/{name}/configmaps/our-authorities": {
            "kind": "ConfigMap", "apiVersion": "v1", "data": {key: "..."},
        }
        for name in there
    }  # fmt: skip
    with cluster(tmp_path, objects) as kubeconfig:
        result = run_helm(*ON_SERVER, values=WAYS["proxy"], kubeconfig=kubeconfig)
    assert (result.returncode != 0) is (said is not None), result.stderr
    assert said is None or said in result.stderr


@pytest.mark.parametrize("text", [None, "", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_without_authorities_is_refused_before_anything_trusts_it(
    chart_env: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setattr(install, "AUTHORITIES_FOLDER", str(tmp_path))
    if text is not None:
        (tmp_path / "ca.crt").write_text(text)
    with pytest.raises(ValueError, match=r"outbound.authorities.configMap: the key bundle.pem of the ConfigMap our"):
        configure(Config(), chart_env(WAYS["proxy"]))
