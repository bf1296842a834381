"""What the scheduler makes of its pod: the service reads configuration, variables and files as it does there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hai_scheduler.adapters.system.key_ring import KeyRing
from hai_scheduler.api.server.auth import Auth
from hai_scheduler.app.config import HaiScheduler, Settings
from hai_scheduler.core.workspace.builds import BuildSettings
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.launch.run_tokens import RunTokens
from kit.helm.pods import ELSEWHERE, environment, secrets_of
from kit.helm.rendering import CHART, Render, Values

Read = Callable[..., tuple[Settings, dict[str, dict[str, str]]]]


@pytest.fixture
def read(render: Render, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    def settings(scheduler: dict[str, Any], **more: Any) -> tuple[Settings, dict[str, dict[str, str]]]:
        made = render({"scheduler": {"separate": True, **scheduler}, **more})
        secrets = secrets_of(made)
        (pod,) = (pod for name, pod in made.pods() if name == "api")
        for name, text in environment(pod, secrets, tmp_path).items():
            monkeypatch.setenv(name, text)
        file = tmp_path / "config.json"
        file.write_text(made.one("ConfigMap", "scheduler")["data"]["config.json"])
        words = ["--role", "api", "--config", str(file), "--KubernetesSettings.api_url=http://hai"]
        return HaiScheduler().settings(words), secrets

    return settings


def test_it_comes_to_its_own_database_as_its_own_role(read: Read) -> None:
    found, secrets = read({})
    password = secrets["postgresql"]["scheduler-password"]
    wanted = (
        f"postgresql://scheduler:{password}@postgresql.platform.svc:5432/hai?connect_timeout=5&tcp_user_timeout=10000"
    )
    assert found.db_url == wanted
    assert found.redis_url is not None
    assert found.redis_url.reveal() == f"redis://:{secrets['redis']['password']}@redis.platform.svc:6379/0"


def test_it_signs_by_the_secret_of_all_replicas_and_asks_the_hub_by_its_token(read: Read) -> None:
    found, secrets = read({})
    assert found.service_secret is not None
    assert found.service_secret.reveal() == secrets["hub"]["service-secret"]
    assert found.secrets_keys is not None
    assert found.secrets_keys.reveal() == secrets["hub"]["secrets-key"]
    assert KeyRing.read(found.secrets_keys.reveal())
    auth = Auth.from_environment(run_tokens=RunTokens(Secret("s")), cookie_secret=Secret("c"))
    assert auth.hub.api_token == secrets["hub"]["service-token"]


def test_snapshots_of_code_lie_on_the_claim_that_tasks_mount_them_from(read: Read, render: Render) -> None:
    assert read({})[0].snapshots_root is None
    made = render({"scheduler": {"separate": True}, "snapshots": {"existingClaim": "code"}})
    config = json.loads(made.one("ConfigMap", "scheduler")["data"]["config.json"])["HaiScheduler"]
    assert (config["snapshots_root"], config["snapshots_claim"]) == ("/var/lib/hai-snapshots", "code")
    for name, pod in made.pods():
        if name in ("api", "scheduler"):
            mounts = {one["name"]: one for one in pod["containers"][0]["volumeMounts"]}
            volumes = {one["name"]: one for one in pod["volumes"]}
            assert mounts["snapshots"] == {"name": "snapshots", "mountPath": config["snapshots_root"]}
            assert volumes["snapshots"]["persistentVolumeClaim"] == {"claimName": "code"}


def test_addresses_of_databases_elsewhere_come_from_their_secret(read: Read) -> None:
    elsewhere = {"existingSecret": {"name": "databases", "key": "x"}}
    found, _ = read({"db": {"type": "postgres", **elsewhere}, "redis": {"type": "external", **elsewhere}})
    assert found.db_url == ELSEWHERE
    assert found.redis_url is not None
    assert found.redis_url.reveal() == ELSEWHERE


def test_it_finds_environments_where_it_and_its_tasks_have_them(read: Read) -> None:
    found, _ = read(
        {}, haienv={"enabled": True, "root": "/envs", "volume": {"type": "claim", "existingClaim": "files"}}
    )
    assert found.kubernetes is not None
    assert (str(found.haienv_root), found.kubernetes.haienv_root) == ("/envs", "/envs")
    assert found.kubernetes.haienv_claim == "files"
    without, _ = read({})
    assert without.haienv_root is None


CLAIM: Values = {"enabled": True, "volume": {"type": "claim", "existingClaim": "files"}}


def test_builds_run_in_the_image_of_servers_and_as_the_one_account(read: Read) -> None:
    image = {"name": "registry.example/lab", "tag": "7", "pullSecrets": ["lab"]}
    found, _ = read(
        {},
        haienv={**CLAIM, "makersGid": 70000, "pythons": "system"},
        singleuser={"image": image},
        identity={"uid": 2000000},
        imagePullSecrets=["all"],
    )
    assert found.kubernetes is not None
    assert found.service.builder == BuildSettings(account="2000000", image="registry.example/lab:7", group="jupyter")
    assert (found.kubernetes.haienv_image, found.kubernetes.haienv_makers) == ("registry.example/lab:7", 70000)
    assert found.kubernetes.haienv_build_variables == {"UV_PYTHON_PREFERENCE": "system"}
    # The nodes of tasks must be able to pull it.
    assert found.kubernetes.image_pull_secrets == ("all", "lab")
    without, _ = read({})
    assert without.service.builder == BuildSettings()


def test_an_admins_own_account_of_builds_wins(read: Read) -> None:
    found, _ = read({"config": {"HaiScheduler": {"build_account": "3000"}}}, haienv=CLAIM)
    assert found.service.builder.account == "3000"


def test_it_asks_registries_with_the_pull_secret_that_is_named(read: Read) -> None:
    found, _ = read({"registrySecret": "pull"})
    assert found.kubernetes is not None
    assert found.kubernetes.registry_auth_file == Path("/etc/hai/scheduler-secrets/registry.json")
    without, _ = read({})
    assert without.kubernetes is not None
    assert without.kubernetes.registry_auth_file is None


def test_secrets_of_notifications_are_files_of_the_pod(render: Render) -> None:
    chosen = {"smtpSecret": {"name": "mail"}, "sinksSecret": "sinks"}
    rendered = render({"scheduler": {"separate": True, "notifications": chosen}})
    pod = dict(rendered.pods())["scheduler"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    wanted = {"secret": {"name": "mail", "items": [{"key": "password", "path": "smtp-password"}]}}
    assert wanted in volumes["scheduler-secrets"]["projected"]["sources"]
    assert volumes["sinks"]["secret"] == {"secretName": "sinks", "defaultMode": 0o440}
    (container,) = pod["containers"]
    assert {"name": "sinks", "mountPath": "/etc/hai/sinks", "readOnly": True} in container["volumeMounts"]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert env["HAI_SMTP_PASSWORD_FILE"] == "/etc/hai/scheduler-secrets/smtp-password"
    plain = dict(render({"scheduler": {"separate": True}}).pods())["scheduler"]
    assert "sinks" not in {one["name"] for one in plain["volumes"]}


def test_the_pull_secret_is_a_file_of_the_pod(render: Render) -> None:
    pod = dict(render({"scheduler": {"separate": True, "registrySecret": "pull"}}).pods())["api"]
    (volume,) = (one for one in pod["volumes"] if one["name"] == "scheduler-secrets")
    wanted = {"secret": {"name": "pull", "items": [{"key": ".dockerconfigjson", "path": "registry.json"}]}}
    assert wanted in volume["projected"]["sources"]


def test_training_pods_get_labels_and_annotations_that_the_cluster_asks_for(render: Render) -> None:
    given = {"extraLabels": {"example.org/team": "ml"}, "extraAnnotations": {"note": "x"}}
    made = render({"tasks": given})
    cluster = json.loads(made.one("ConfigMap", "scheduler")["data"]["config.json"])["KubernetesSettings"]
    assert (cluster["extra_labels"], cluster["extra_annotations"]) == tuple(given.values())


@pytest.mark.parametrize("key", ["app.kubernetes.io/managed-by", "hai.jupyter.org/run"])
@pytest.mark.parametrize("value", ["extraLabels", "extraAnnotations"])
def test_a_label_of_ours_is_refused_by_its_name(run_helm: Any, key: str, value: str) -> None:
    result = run_helm("template", "hai", str(CHART), values={"tasks": {value: {key: "mine"}}})
    assert result.returncode != 0
    assert f"tasks.{value}: {key} is HAI's own: leave it out" in result.stderr


@pytest.mark.parametrize("separate", [False, True], ids=["in the hub's pod", "separate"])
def test_every_pod_of_the_chart_can_have_more_labels_and_annotations(render: Render, separate: bool) -> None:
    more = {"labels": {"example.org/team": "platform"}, "annotations": {"note": "x"}}
    parts = ("hub", "proxy", "scheduler", "postgresql", "redis", "haienv")
    values = {part: dict(more) for part in parts}
    values["haienv"] |= {"enabled": True}
    values["scheduler"] |= {"separate": separate}
    values |= {"workloads": {"namespace": "platform"}}
    for entry in render(values).objects:
        if entry["kind"] in ("Deployment", "Job", "StatefulSet"):
            metadata = entry["spec"]["template"]["metadata"]
            assert metadata["labels"]["example.org/team"] == "platform", entry["metadata"]["name"]
            assert metadata["annotations"]["note"] == "x", entry["metadata"]["name"]


@pytest.mark.parametrize("separate", [True, False])
def test_every_process_of_the_platform_knows_the_version_of_the_chart(render: Render, separate: bool) -> None:
    """A start warns where the image is of another one."""
    values: dict[str, Any] = {"scheduler": {"separate": separate}}
    wanted = {"hub", "scheduler", "api"} if separate else {"hub"}
    told = {}
    for name, pod in render(values).pods():
        given = [one["value"] for one in pod["containers"][0].get("env", ()) if one["name"] == "HAI_CHART_VERSION"]
        told.update({name: given} if given else {})
    assert told == {name: [yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]] for name in wanted}


def test_the_scheduler_is_told_whose_pods_count(read: Read) -> None:
    for foreign in ([], ["*"], ["ops", "shop"]):
        found, _ = read({"foreignPods": foreign})
        assert found.kubernetes is not None
        assert found.kubernetes.foreign_pods == tuple(foreign)


def test_who_users_are_is_one_answer_for_tasks_builds_and_copies(read: Read) -> None:
    fixed, _ = read({}, identity={"uid": 5000, "gid": 6000})
    assert fixed.kubernetes is not None
    assert (fixed.kubernetes.run_as_user, fixed.kubernetes.run_as_group) == (5000, 6000)
    assert (fixed.identities.source, fixed.identities.gid) == ("fixed", 6000)
    former, _ = read({}, identity={"gid": 6000}, singleuser={"uid": 5000})
    assert (former.kubernetes, former.service.builder) == (fixed.kubernetes, fixed.service.builder)
    claimed, _ = read({}, identity={"source": "claims", "leastUid": 500, "accountFiles": False})
    assert claimed.kubernetes is not None
    assert (claimed.identities.source, claimed.kubernetes.account_files) == ("claims", False)
    rules = claimed.identities.rules
    assert (rules.least_uid, 1000 in rules.own_uids, rules.own_gids) == (500, True, frozenset({60100}))


@pytest.mark.parametrize("separate", [True, False])
def test_files_of_accounts_are_where_it_reads_them(render: Render, read: Read, separate: bool) -> None:
    values = {"identity": {"source": "file", "file": {"configMap": "accounts"}}}
    found, _ = read({}, **values)
    passwd, group = found.identities.passwd, found.identities.group
    assert (passwd, group) == (Path("/etc/hai/accounts/passwd"), Path("/etc/hai/accounts/group"))
    made = render({"scheduler": {"separate": separate}, **values})
    for name, pod in made.pods():
        if name in (("api", "scheduler") if separate else ("hub",)):
            (mount,) = (one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "accounts")
            (volume,) = (one for one in pod["volumes"] if one["name"] == "accounts")
            assert mount == {"name": "accounts", "mountPath": "/etc/hai/accounts", "readOnly": True}
            assert volume["configMap"] == {"name": "accounts"}
