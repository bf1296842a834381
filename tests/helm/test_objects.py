"""What Helm makes of the chart is valid, has no rights that it does not need, and shows no secret."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.preflight import NEEDS, NEEDS_OF_A_READER, Need, needs_for_foreign
from kit import schemas
from kit.helm.matrix import MATRIX
from kit.helm.rendering import CHART, Object, Render
from kit.pod_security import faults

ALL = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())


def test_lint_has_nothing_to_say(run_helm: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    result = run_helm("lint", "--strict", str(CHART))
    assert result.returncode == 0, result.stdout


@ALL
def test_every_object_is_valid(render: Render, values: dict[str, Any]) -> None:
    for entry in render(values).objects:
        if "monitoring.coreos.com" not in entry["apiVersion"]:
            schemas.check(entry)


@ALL
def test_what_an_api_server_of_2021_cannot_guess_is_written(render: Render, values: dict[str, Any]) -> None:
    """Its server-side apply knows no default for the protocol of a Service's port."""
    for service in render(values).all("Service"):
        assert all(port.get("protocol") for port in service["spec"]["ports"]), service["metadata"]["name"]


def containers(pod: Object) -> Iterator[Object]:
    yield from pod.get("initContainers", [])
    yield from pod["containers"]


def is_init(name: str) -> bool:
    return "haienv-init-" in name


@ALL
def test_every_pod_is_restricted_but_the_one_that_makes_the_volumes_folders(
    render: Render, values: dict[str, Any]
) -> None:
    """See test_haienv.py for that one."""
    for name, pod in render(values).pods():
        if is_init(name):
            continue
        assert faults({"metadata": {}, "spec": pod}) == [], name
        for container in containers(pod):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
            assert container["resources"]["requests"], name


@ALL
def test_a_token_of_the_api_server_is_where_it_is_needed_alone(render: Render, values: dict[str, Any]) -> None:
    with_token = {name for name, pod in render(values).pods() if pod["automountServiceAccountToken"]}
    prefix = f"{values['fullnameOverride']}-" if "fullnameOverride" in values else ""
    separate = values.get("scheduler", {}).get("separate")
    assert with_token == {f"{prefix}hub"} | ({f"{prefix}scheduler", f"{prefix}api"} if separate else set())
    for account in render(values).all("ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


def granted(role: Object) -> dict[str, set[str]]:
    assert all(rule["apiGroups"] == [""] for rule in role["rules"])
    found: dict[str, set[str]] = {}
    for rule in role["rules"]:
        for resource in rule["resources"]:
            for name in rule.get("resourceNames", [""]):
                key = f"{resource}/{name}" if name else resource
                found[key] = found.get(key, set()) | set(rule["verbs"])
    return found


def wanted(needs: Iterable[Need], *, namespaced: bool) -> dict[str, set[str]]:
    """What a process asks for, as `granted` returns it."""
    return {
        f"{need.resource}/{need.name}" if need.name else need.resource: set(need.verbs)
        for need in needs
        if need.namespaced is namespaced
    }


#: What the Hub does: tests/kubernetes run it with these rights alone.
HUB_NEEDS = (
    Need("pods", ("create", "delete", "list", "watch")),
    Need("persistentvolumeclaims", ("create", "delete", "get")),
    Need("events", ("list", "watch")),
    Need("nodes", ("list",), namespaced=False),
)


@ALL
def test_rights_are_what_the_code_asks_for_and_no_others(render: Render, values: dict[str, Any]) -> None:
    """Of the scheduler's requests tests/unit/adapters/kubernetes/test_needs.py says that they are these and all."""
    made = render(values)
    separate = values.get("scheduler", {}).get("separate")
    prefix = f"{values['fullnameOverride']}-" if "fullnameOverride" in values else ""
    needs = {"hub": HUB_NEEDS, "scheduler": NEEDS, **({"api": NEEDS_OF_A_READER} if separate else {})}
    assert made.names("Role") == made.names("RoleBinding") == {prefix + name for name in needs}
    for name, its in needs.items():
        account = prefix + (name if separate else "hub")
        assert granted(made.one("Role", prefix + name)) == wanted(its, namespaced=True)
        assert accounts(made.one("RoleBinding", prefix + name)) == {account}
        bound = [binding for binding in made.all("ClusterRoleBinding") if account in accounts(binding)]
        roles = [granted(made.one("ClusterRole", binding["roleRef"]["name"])) for binding in bound]
        assert wanted(its, namespaced=False) in roles
        assert len(roles) == (1 if separate else 2)
    assert made.names("ClusterRole") == made.names("ClusterRoleBinding")


@pytest.mark.parametrize("separate", [False, True], ids=["in the Hub", "separate"])
def test_pods_of_others_are_seen_in_the_namespaces_that_are_named_alone(render: Render, separate: bool) -> None:
    who = {"scheduler", "api"} if separate else {"hub"}
    name = "platform-hai-foreign-pods"
    for foreign in (["*"], ["ops", "*"], ["ops", "shop"]):
        made = render({"scheduler": {"separate": separate, "foreignPods": foreign}})
        kind = "ClusterRole" if "*" in foreign else "Role"
        roles = [role for role in made.all(kind) if role["metadata"]["name"] == name]
        bindings = [binding for binding in made.all(f"{kind}Binding") if binding["metadata"]["name"] == name]
        asked = needs_for_foreign(foreign)
        assert [granted(role) for role in roles] == [wanted([need], namespaced=need.namespaced) for need in asked]
        assert [role["metadata"].get("namespace", "") for role in roles] == [need.namespace for need in asked]
        assert [binding["metadata"].get("namespace", "") for binding in bindings] == [need.namespace for need in asked]
        assert {binding["roleRef"]["name"] for binding in bindings} == {name}
        assert all(accounts(binding) == who for binding in bindings)
    assert name not in made.names("ClusterRole")


def accounts(binding: Object) -> set[str]:
    return {subject["name"] for subject in binding["subjects"]}


def test_rights_are_in_the_namespace_of_the_workloads_alone(render: Render) -> None:
    made = render({})
    for kind in ("Role", "RoleBinding"):
        assert {entry["metadata"]["namespace"] for entry in made.all(kind)} == {"platform-work"}


SECRETS = {
    "cookieSecret": "ab" * 32,
    "secretToken": "cd" * 32,
    "postgresql": "Postgres0Password0For0Tests",
    "redis": "Redis0Password0For0Tests",
    "oauth": "oauth-client-secret",
    "url": "postgresql://user:url-password@db/hub",
}


def test_no_secret_is_outside_of_secrets(render: Render) -> None:
    made = render(
        {
            "hub": {
                "cookieSecret": SECRETS["cookieSecret"],
                "config": {"GitHubOAuthenticator": {"client_secret": SECRETS["oauth"]}},
                "db": {"type": "postgres", "url": SECRETS["url"]},
            },
            "proxy": {"secretToken": SECRETS["secretToken"]},
            "scheduler": {"separate": True},
            "postgresql": {"password": SECRETS["postgresql"]},
            "redis": {"password": SECRETS["redis"]},
        }
    )
    held = " ".join(
        base64.b64decode(value).decode() for secret in made.all("Secret") for value in secret["data"].values()
    )
    elsewhere = json.dumps([entry for entry in made.objects if entry["kind"] != "Secret"])
    for name, secret in SECRETS.items():
        assert secret in held, name
        assert secret not in elsewhere, name
        assert base64.b64encode(secret.encode()).decode() not in elsewhere, name


@ALL
def test_tokens_and_passwords_reach_pods_as_files(render: Render, values: dict[str, Any]) -> None:
    """But the proxy's token, which configurable-http-proxy takes from its environment alone."""
    for name, pod in render(values).pods():
        for container in containers(pod):
            for variable in container.get("env", []):
                word = variable["name"]
                if variable.get("valueFrom", {}).get("secretKeyRef", {}).get("name") != "s":
                    assert ("valueFrom" in variable) is (word == "CONFIGPROXY_AUTH_TOKEN"), (name, word)
                assert not re.search(r"//[^/]*:[^/]*@", variable.get("value", "")), (name, word)
                if re.search("TOKEN$|PASSWORD$|SECRET$|_KEY$", word):
                    assert word == "CONFIGPROXY_AUTH_TOKEN", (name, word)


def secret_files(pod: Object, container: Object) -> set[str]:
    """The files of Secrets that a container sees, one by one."""
    places = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    return {
        f"{places[volume['name']]}/{item['path']}"
        for volume in pod["volumes"]
        for source in volume.get("projected", {}).get("sources", [])
        for item in source["secret"]["items"]
        if volume["name"] in places
    }


@ALL
def test_every_file_that_a_variable_names_is_there_and_no_other_secret(render: Render, values: dict[str, Any]) -> None:
    for name, pod in render(values).pods():
        for container in pod["containers"]:
            variables = container.get("env", [])
            named = {entry["value"] for entry in variables if entry["name"].endswith("_FILE") and "value" in entry}
            named -= {"/etc/hai/passwords/password"}
            assert secret_files(pod, container) == named, name
        for volume in pod["volumes"]:
            if "projected" in volume:
                assert volume["projected"]["defaultMode"] == 0o440, name


@ALL
def test_all_images_have_a_tag(render: Render, values: dict[str, Any]) -> None:
    for name, pod in render(values).pods():
        for container in containers(pod):
            assert re.search(r":[\w.-]+$", container["image"]), name
            assert not container["image"].endswith(":latest"), name


def test_what_cannot_work_is_refused_with_the_value_to_change(
    run_helm: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    for values, said in (
        ({"hub": {"db": {"type": "postgres"}}}, "hub.db.existingSecret.name"),
        ({"scheduler": {"db": {"type": "postgres"}}}, "scheduler.db.existingSecret.name"),
        ({"scheduler": {"separate": True, "db": {"type": "sqlite"}}}, "which replicas cannot share"),
        ({"scheduler": {"redis": {"type": "external"}}}, "scheduler.redis.existingSecret.name"),
        ({"scheduler": {"config": {"HaiScheduler": {"db_url": "x"}}}}, "scheduler.db.existingSecret"),
        ({"proxy": {"https": {"enabled": True}}}, "proxy.https.secret.name"),
    ):
        result = run_helm("template", "hai", str(CHART), values=values)
        assert result.returncode != 0
        assert said in result.stderr


def test_an_image_may_be_named_by_its_digest(render: Render) -> None:
    digest = "sha256:" + "0" * 64
    rendered = render({"imageRegistry": "registry.example.org/hai", "hub": {"image": {"tag": digest}}})
    (container,) = dict(rendered.pods())["hub"]["containers"]
    assert container["image"] == f"registry.example.org/hai/hai-hub@{digest}"


def test_a_digest_wins_over_the_tag_in_every_image(render: Render) -> None:
    given = {"tag": "mine", "digest": "sha256:" + "0123456789abcdef" * 4}
    rendered = render(
        {
            "scheduler": {"separate": True, "image": given},
            **{part: {"image": given} for part in ("hub", "singleuser", "postgresql", "redis")},
            "proxy": {"chp": {"image": given}},
            "tasks": {"image": given, "initImage": given},
        }
    )
    images = [container["image"] for _, pod in rendered.pods() for container in containers(pod)]
    cluster = json.loads(rendered.one("ConfigMap", "scheduler")["data"]["config.json"])["KubernetesSettings"]
    for image in [*images, cluster["image"], cluster["init_image"]]:
        assert image.endswith(f"@{given['digest']}")


@pytest.mark.parametrize("digest", ["sha256:abc", "0" * 64, "sha256:" + "G" * 64])
def test_what_is_no_digest_is_refused(run_helm: Callable[..., subprocess.CompletedProcess[str]], digest: str) -> None:
    result = run_helm("template", "hai", str(CHART), values={"hub": {"image": {"digest": digest}}})
    assert result.returncode != 0
    assert "/hub/image/digest" in result.stderr


@pytest.mark.parametrize(("given", "version"), [({}, "latest"), ({"podSecurityVersion": "v1.32"}, "v1.32")])
def test_the_workloads_namespace_says_by_which_version_of_the_standard(
    render: Render, given: dict[str, str], version: str
) -> None:
    labels = render({"workloads": given}).one("Namespace", "platform-work")["metadata"]["labels"]
    for mode in ("enforce", "warn", "audit"):
        assert labels[f"pod-security.kubernetes.io/{mode}"] == "restricted"
        assert labels[f"pod-security.kubernetes.io/{mode}-version"] == version


@pytest.mark.parametrize("separate", [False, True], ids=["one pod", "two schedulers"])
def test_what_needs_the_charts_own_database_waits_for_it_instead_of_crashing(render: Render, separate: bool) -> None:
    own = dict(render({"scheduler": {"separate": separate}}).pods())
    for name in ("hub", "scheduler", "api")[: 1 + 2 * separate]:
        (wait,) = own[name]["initContainers"]
        assert wait["command"][-1] == "postgresql.platform.svc"
        assert own[name]["containers"][0]["image"] == wait["image"]
    (before, after) = dict(render({"hub": {"initContainers": [{"name": "mine", "image": "x"}]}}).pods())["hub"][
        "initContainers"
    ]
    assert (before["name"], after["name"]) == ("wait-for-postgresql", "mine")


def test_there_is_nothing_to_wait_for_where_the_database_is_elsewhere(render: Render) -> None:
    values = {"hub": {"db": {"type": "sqlite-memory"}}, "scheduler": {"db": {"type": "sqlite"}}}
    assert "initContainers" not in dict(render(values).pods())["hub"]


@ALL
def test_every_mount_has_its_volume_and_every_volume_a_mount(render: Render, values: dict[str, Any]) -> None:
    for name, pod in render(values).pods():
        mounted = {mount["name"] for container in containers(pod) for mount in container.get("volumeMounts", [])}
        claims = {"data"} if name.endswith("postgresql") else set()
        assert mounted == {volume["name"] for volume in pod["volumes"]} | claims, name
