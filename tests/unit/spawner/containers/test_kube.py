"""The pod that becomes a development container, without a cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.client.rest import ApiException

pytest.importorskip("kubespawner")

from jupyterhub.spawner import SpawnException
from traitlets import TraitError

from hai_client.wire.identities import Identity, UnixGroup
from hai_client.wire.storage import ContainerConfig, Mounted
from hai_scheduler.core.workspace.passwd import AccountTable
from hai_spawner.containers import kube
from hai_spawner.containers.kube import HaiKubeSpawner
from hai_spawner.containers.mixin import HaiSpawnerMixin
from hai_spawner.sizes.allocations import Allocations
from hai_spawner.sizes.nodes import FRESH_S, CapacityReader, Unreadable
from kit import schemas
from kit.pod_security import faults
from unit.spawner.spawn_kit import GPU, SIZES, FakeApi, a_hub, a_node, a_pod, a_user, an_environment, some_places

HOME = Mounted(
    rule="home", kind="host_path", source="/data/{ann}", sub_path="", mount_path="/home/ann", read_only=False
)
SETS = Mounted(rule="sets", kind="pvc", source="sets", sub_path="ml", mount_path="/sets", read_only=True)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HaiSpawnerMixin, "allocations", Allocations())
    monkeypatch.setattr(HaiKubeSpawner, "_readers", {})
    monkeypatch.setattr("kubespawner.spawner.load_config", lambda **_: None)
    monkeypatch.setattr("kubespawner.spawner.shared_client", lambda _: None)


def spawner(options: Any = None, *, api: FakeApi | None = None, user: Any = None, **more: Any) -> HaiKubeSpawner:
    given = {"sizes": SIZES, "namespace": "labs", "image": "registry.example/lab:1", **more}
    made = HaiKubeSpawner(user=user or a_user(), hub=a_hub(), _mock=True, **given)
    made.api = api or FakeApi([a_node(cpu="16", memory="128Gi", gpus=2)], [])
    made.orm_spawner = SimpleNamespace(user_options=options, name="", state={}, server=None)
    made.user_options = options or {}
    made.api_token = "secret"
    return made


async def pod_of(made: HaiKubeSpawner) -> Any:
    """The pod as it is sent to the API server."""
    await made.run_pre_spawn_hook()
    await made.load_user_options()
    manifest = await made.get_pod_manifest()
    async with ApiClient(Configuration()) as client:
        pod = client.sanitize_for_serialization(manifest)
    schemas.check(pod)
    return pod


async def test_a_size_with_a_device_asks_for_it_and_takes_its_image() -> None:
    made = spawner({"profile": "gpu-1"})
    pod = await pod_of(made)
    container = pod["spec"]["containers"][0]
    assert container["image"] == "registry.example/cuda:1"
    assert container["resources"]["limits"] == {"cpu": 4.0, "memory": 16 * 2**30, GPU: "1"}
    assert container["resources"]["requests"] == {"cpu": 4.0, "memory": 16 * 2**30, GPU: "1"}
    assert pod["metadata"]["labels"]["hai.jupyter.org/size"] == "gpu-1"
    assert made.start_timeout == 900


def group_terms(pod: Any) -> list[Any]:
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms: list[Any] = required["nodeSelectorTerms"]
    return terms


async def test_it_runs_on_the_jupyter_group_alone() -> None:
    (term,) = group_terms(await pod_of(spawner({"profile": "small"})))
    assert term == {"matchExpressions": [{"key": "hai.jupyter.org/group", "operator": "In", "values": ["jupyter"]}]}


async def test_no_other_node_affinity_leads_around_the_group() -> None:
    """Terms are alternatives: one without the group would let it run anywhere."""
    terms = [
        {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n-9"]}]},
    ]
    made = spawner({"profile": "small"}, node_affinity_required=terms, groups=["jupyter", "notebooks"])
    found = group_terms(await pod_of(made))
    assert [term["matchExpressions"][-1]["values"] for term in found] == [["jupyter", "notebooks"]] * 2
    assert found[0]["matchExpressions"][0]["key"] == "disk"
    assert found[1]["matchFields"][0]["values"] == ["n-9"]


async def test_its_rights_are_few() -> None:
    pod = await pod_of(spawner({"profile": "small"}))
    rights = pod["spec"]["containers"][0]["securityContext"]
    assert rights == {
        "runAsUser": 1000,
        "runAsGroup": 100,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["enableServiceLinks"] is False


@pytest.mark.parametrize(("size", "seen"), [("small", "void"), ("gpu-1", None)])
async def test_an_image_made_for_gpus_sees_those_that_it_was_given(size: str, seen: str | None) -> None:
    made = spawner({"profile": size})
    await made.run_pre_spawn_hook()
    assert made.get_env().get("NVIDIA_VISIBLE_DEVICES") == seen


async def test_folders_are_mounted_as_the_service_resolved_them(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(*_: Any, **__: Any) -> ContainerConfig:
        return some_places(
            an_environment("torch", image="registry.example/torch:2", variables={"A": "{b}"}),
            mounts=(HOME, SETS, replace(SETS, sub_path="x", mount_path="/x")),
        )

    monkeypatch.setattr("hai_spawner.containers.mixin.places_of", ask)
    pod = await pod_of(spawner({"profile": "gpu-1", "environment": "torch"}, ask_scheduler=True))
    container = pod["spec"]["containers"][0]
    assert container["image"] == "registry.example/torch:2"
    assert {"name": "A", "value": "{b}"} in container["env"]
    assert container["volumeMounts"] == [
        {"name": "hai-0", "mountPath": "/home/ann", "readOnly": False},
        {"name": "hai-1", "mountPath": "/sets", "readOnly": True, "subPath": "ml"},
        {"name": "hai-1", "mountPath": "/x", "readOnly": True, "subPath": "x"},
    ]
    assert pod["spec"]["volumes"] == [
        {"name": "hai-0", "hostPath": {"path": "/data/{ann}", "type": "Directory"}},
        {"name": "hai-1", "persistentVolumeClaim": {"claimName": "sets"}},
    ]


async def test_two_folders_at_one_place_are_refused_rather_than_one_of_them_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def ask(*_: Any, **__: Any) -> ContainerConfig:
        return some_places(mounts=(HOME,))

    monkeypatch.setattr("hai_spawner.containers.mixin.places_of", ask)
    volume = {"name": "v", "emptyDir": {}}
    mount = {"name": "v", "mountPath": "/home/ann/"}
    made = spawner({"profile": "small"}, ask_scheduler=True, volumes=[volume], volume_mounts=[mount])
    with pytest.raises(SpawnException, match="Two folders are mounted at /home/ann"):
        await pod_of(made)


WITH_ENVIRONMENTS = {"haienv_root": "/envs", "haienv_claim": "haienv"}


async def test_a_server_sees_all_environments_and_writes_those_of_its_user_and_groups_alone() -> None:
    user = a_user("ann", groups=("nlp", "cv", "a:b"))
    pod = await pod_of(spawner({"profile": "small"}, user=user, uid=4711, **WITH_ENVIRONMENTS))
    container = pod["spec"]["containers"][0]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"] if mount["name"] == "haienv"}
    assert mounts.pop("/envs")["readOnly"] is True
    assert {path: (mount["subPath"], mount["readOnly"]) for path, mount in mounts.items()} == {
        f"/envs/{folder}": (folder, False)
        for folder in ("users/ann", "references/users/ann", "groups/cv", "groups/nlp")
    }
    (init,) = pod["spec"]["initContainers"]
    assert init["command"] == ["haienv", "init", "--own-user", "ann", "--own-group", "cv", "--own-group", "nlp"]
    assert init["image"] == "registry.example/lab:1"
    rights = init["securityContext"]
    assert (rights["runAsUser"], rights["runAsGroup"], rights["runAsNonRoot"]) == (4711, 60100, True)
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["runAsGroup"] != rights["runAsGroup"], "users cannot make others' folders"
    env = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert env["UV_CACHE_DIR"] == "/envs/users/ann/.cache/uv"
    assert env["LOGNAME"] == "ann"


async def test_the_image_that_makes_the_folders_is_never_the_users_choice() -> None:
    pod = await pod_of(spawner({"profile": "gpu-1"}, **WITH_ENVIRONMENTS))
    assert pod["spec"]["containers"][0]["image"] == "registry.example/cuda:1"
    assert pod["spec"]["initContainers"][0]["image"] == "registry.example/lab:1"


async def test_an_admin_builds_base_environments() -> None:
    for admin in (False, True):
        pod = await pod_of(spawner({"profile": "small"}, user=a_user("ann", admin=admin), **WITH_ENVIRONMENTS))
        paths = {mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
        assert ("/envs/base" in paths) is admin


async def test_a_folder_in_the_place_of_the_environments_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(*_: Any, **__: Any) -> ContainerConfig:
        return some_places(mounts=(replace(SETS, mount_path="/envs"),))

    monkeypatch.setattr("hai_spawner.containers.mixin.places_of", ask)
    with pytest.raises(SpawnException, match="Two folders are mounted at /envs"):
        await pod_of(spawner({"profile": "small"}, ask_scheduler=True, **WITH_ENVIRONMENTS))


@pytest.mark.parametrize("user", ["Ann B.", "../../etc", "x" * 80, "a--b", "{username}", "ünï@ex.org"])
async def test_a_users_name_becomes_a_safe_slug(user: str) -> None:
    pod = await pod_of(spawner({"profile": "small"}, user=a_user(user)))
    name = pod["metadata"]["name"]
    assert len(name) <= 63
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert pod["metadata"]["annotations"]["hub.jupyter.org/username"] == user


async def test_a_size_changes_nothing_of_the_configuration_and_nothing_of_the_next_spawn() -> None:
    limits, selector = {"example.com/fpga": "1"}, {"disk": "ssd"}
    sizes = {**SIZES, "gpu-1": {**SIZES["gpu-1"], "node_selector": {"gpu": "a100"}}}
    nodes = [a_node(cpu="16", gpus=2, labels={"gpu": "a100"})]
    given = {"extra_resource_limits": limits, "node_selector": selector, "sizes": sizes}
    first = spawner({"profile": "gpu-1"}, api=FakeApi(nodes, []), **given)
    pod = await pod_of(first)
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd", "gpu": "a100"}
    second = spawner({"profile": "small"}, api=FakeApi(nodes, []), user=a_user("bob"), **given)
    container = (after := await pod_of(second))["spec"]["containers"][0]
    assert container["image"] == "registry.example/lab:1"
    assert container["resources"]["limits"] == {"cpu": 1.0, "memory": 2 * 2**30, "example.com/fpga": "1"}
    assert after["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert (limits, selector) == ({"example.com/fpga": "1"}, {"disk": "ssd"})


def test_profiles_of_kubespawner_are_refused_in_favour_of_sizes() -> None:
    with pytest.raises(TraitError, match=r"profile_list is set: describe profiles as HaiKubeSpawner\.sizes"):
        spawner(profile_list=[{"display_name": "x"}])


def granted() -> list[tuple[str, str]]:
    """The user and the size of each server that was granted."""
    return [(grant.user, grant.size) for grant in HaiSpawnerMixin.allocations]


async def refused(made: HaiKubeSpawner) -> SpawnException:
    with pytest.raises(SpawnException) as error:
        await made.run_pre_spawn_hook()
    return error.value


async def test_without_free_devices_it_names_what_would_start() -> None:
    api = FakeApi([a_node(gpus=1)], [a_pod(gpus=1)])
    error = await refused(spawner({"profile": "gpu-1"}, api=api))
    assert (error.status_code, error.reason) == (503, "capacity")
    assert error.message.endswith("These would start now: small.")
    assert api.calls == [("nodes", "hai.jupyter.org/group in (jupyter)"), ("pods", "labs")]


async def test_the_last_device_is_given_once_though_its_pod_is_not_to_be_seen_yet() -> None:
    api = FakeApi([a_node(gpus=1)], [])
    await spawner({"profile": "gpu-1"}, api=api).run_pre_spawn_hook()
    error = await refused(spawner({"profile": "gpu-1"}, api=api, user=a_user("bob")))
    assert error.reason == "capacity"


async def test_a_grant_and_its_pod_are_counted_once() -> None:
    api = FakeApi([a_node(gpus=2)], [])
    await spawner({"profile": "gpu-1"}, api=api).run_pre_spawn_hook()
    api.pods.append(a_pod(gpus=1, cpu="4", user="ann"))
    HaiKubeSpawner._readers.clear()
    await spawner({"profile": "gpu-1"}, api=api, user=a_user("bob")).run_pre_spawn_hook()
    assert granted() == [("ann", "gpu-1"), ("bob", "gpu-1")]


async def test_a_servers_own_old_pod_does_not_stand_in_its_way() -> None:
    api = FakeApi([a_node(gpus=1)], [a_pod(gpus=1, user="ann")])
    await spawner({"profile": "gpu-1"}, api=api).run_pre_spawn_hook()
    assert granted() == [("ann", "gpu-1")]


@pytest.mark.parametrize(
    "more", [{"capacity": False}, {"api": FakeApi([], [], status=403)}], ids=["off", "not allowed"]
)
async def test_capacity_that_cannot_be_read_refuses_no_server(more: dict[str, Any]) -> None:
    await spawner({"profile": "gpu-1"}, **more).run_pre_spawn_hook()
    assert granted() == [("ann", "gpu-1")]


async def test_a_reading_is_shared_while_it_is_fresh() -> None:
    now = 0.0
    api = FakeApi([a_node()], [])
    reader = CapacityReader(api, "x", "labs", clock=lambda: now)
    await reader.read()
    await reader.read()
    assert len(api.calls) == 2
    now += FRESH_S
    await reader.read()
    assert len(api.calls) == 4


async def test_a_reader_says_which_right_is_missing() -> None:
    with pytest.raises(Unreadable, match=r"may not list nodes \(status 403\): its role needs the verb list"):
        await CapacityReader(FakeApi([], [], status=403), "x", None).read()
    with pytest.raises(Unreadable, match=r"does not answer \(AttributeError\)"):
        await CapacityReader(None, "x", None).read()


def test_the_hub_finds_it_by_name() -> None:
    assert kube.HaiKubeSpawner.__mro__[1] is HaiSpawnerMixin


# -- what the API server refuses --------------------------------------------------------------------------------------

QUOTA = 'pods "jupyter-ann" is forbidden: exceeded quota: labs, requested: requests.cpu=4, used: requests.cpu=8'
POLICY = (
    "pods \"jupyter-ann\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no such image"
)
#: As tests/kit/admission.py refuses a rank.
STANDARD = (
    'pods "jupyter-ann" is forbidden: violates PodSecurity "restricted:latest": restricted volume types (volume "home" '
    'uses restricted volume type "hostPath")'
)
RANGE = 'pods "jupyter-ann" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi'
DEFAULT = (
    'Pod "jupyter-ann" is invalid: spec.containers[0].resources.requests: Invalid value: "4": must be less than or '
    "equal to cpu limit of 2"
)
HEADERS = {"Audit-Id": "5f0e", "Content-Type": "application/json"}


class Refusing(FakeApi):
    """Takes no pod and no claim."""

    def __init__(self, status: int, message: str, body: str | None = None) -> None:
        super().__init__([a_node()], [])
        text = json.dumps({"kind": "Status", "message": message, "code": status}) if body is None else body
        answer = SimpleNamespace(status=status, reason="Forbidden", data=text, getheaders=lambda: HEADERS)
        self.error = ApiException(http_resp=answer)
        self.error.body = text

    async def create_namespaced_pod(self, *_: Any) -> None:
        raise self.error

    async def create_namespaced_persistent_volume_claim(self, **_: Any) -> None:
        raise self.error

    async def read_namespaced_persistent_volume_claim(self, **_: Any) -> None:
        raise ApiException(status=404)


@pytest.mark.parametrize("what", ["pod", "claim"])
@pytest.mark.parametrize(
    ("status", "message", "reason", "shown", "remedy"),
    [
        (403, QUOTA, "refused", 403, "Stop another server or choose a smaller size"),
        (422, POLICY, "refused", 403, "set singleuser.extraLabels or change that policy"),
        (422, f"{POLICY}: exceeded quota: x", "refused", 403, "set singleuser.extraLabels or change that policy"),
        (403, STANDARD, "refused", 403, "asks for what workloads.podSecurity forbids"),
        (403, RANGE, "refused", 403, "change the LimitRange of the namespace"),
        (422, DEFAULT, "refused", 403, "Choose a smaller size"),
        (403, "no words of a plugin", "refused", 403, "Tell an administrator."),
        (500, 'failed calling webhook "gate"', "cluster", 503, "Try again in a moment"),
        (429, "too many requests", "cluster", 503, "Try again in a moment"),
    ],
    ids=["quota", "policy", "policy that quotes", "standard", "range", "default", "others", "webhook away", "busy"],
)
async def test_a_server_that_the_cluster_refuses_says_why_in_the_clusters_words_and_no_headers(
    what: str, status: int, message: str, reason: str, shown: int, remedy: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = spawner({"profile": "small"}, api=Refusing(status, message))
    make = made._make_create_pod_request if what == "pod" else made._make_create_pvc_request
    thing = SimpleNamespace(metadata=SimpleNamespace(name="jupyter-ann"), to_str=lambda: "JUPYTERHUB_API_TOKEN=secret")
    with pytest.raises(SpawnException) as error:
        await make(thing, 3)
    assert (error.value.status_code, error.value.reason) == (shown, reason)
    assert message in error.value.message
    assert remedy in error.value.message
    assert f"the server's {what}" in error.value.message
    for unwanted in ("Audit-Id", "HTTP response"):
        assert unwanted not in str(error.value) + error.value.message
    assert "secret" not in caplog.text


async def test_an_answer_that_is_not_json_is_shown_as_its_reason() -> None:
    made = spawner({"profile": "small"}, api=Refusing(403, "", body="<html>"))
    with pytest.raises(SpawnException, match="refuses the server's pod: Forbidden"):
        await made._make_create_pod_request(SimpleNamespace(metadata=SimpleNamespace(name="x")), 3)


async def test_a_pod_of_the_same_name_is_ended_first() -> None:
    made = spawner({"profile": "small"}, api=Refusing(409, "already exists"))
    ended: list[bool] = []

    async def stop(now: bool) -> None:
        ended.append(now)

    made.stop = stop
    assert not await made._make_create_pod_request(SimpleNamespace(metadata=SimpleNamespace(name="x")), 3)
    assert ended == [True]


# -- whose account it is --------------------------------------------------------------------------------

ADA = Identity(
    name="ann",
    uid=20017,
    groups=(UnixGroup(gid=20017, name=""), UnixGroup(gid=3100, name="cv"), UnixGroup(gid=3200, name="nlp")),
    home="/home/ann",
    shell="/bin/bash",
)
OWN_CLAIM = {"storage_pvc_ensure": True, "pvc_name_template": "claim-ann", "volumes": [
    {"name": "own", "persistentVolumeClaim": {"claimName": "claim-ann"}}
]}  # fmt: skip


async def as_ada(monkeypatch: pytest.MonkeyPatch, *mounts: Mounted, identity: Any = ADA, **settings: Any) -> Any:
    async def asked(_: Any) -> ContainerConfig:
        return replace(some_places(mounts=mounts), identity=identity)

    monkeypatch.setattr(HaiKubeSpawner, "container_config", asked)
    return await pod_of(spawner({"profile": "small"}, **settings))


@pytest.mark.parametrize("mounts", [(), (HOME,), (SETS,)], ids=["none", "home", "shared"])
async def test_a_server_is_its_user_and_restricted(
    monkeypatch: pytest.MonkeyPatch, mounts: tuple[Mounted, ...]
) -> None:
    pod = await as_ada(monkeypatch, *mounts, haienv_claim="haienv", haienv_root="/haienv", haienv_init_image="lab:1")
    (container,) = pod["spec"]["containers"]
    rights = container["securityContext"]
    assert (rights["runAsUser"], rights["runAsGroup"]) == (20017, 20017)
    assert pod["spec"]["securityContext"] == {"supplementalGroups": [3100, 3200]}
    (init,) = pod["spec"]["initContainers"]
    assert init["securityContext"]["runAsUser"] == 20017
    chosen = ["restrictedVolumes: volume hai-0 is a hostPath"] if mounts == (HOME,) else []
    assert faults(pod) == chosen


async def test_its_account_is_in_the_files_that_programs_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = await as_ada(monkeypatch, HOME)
    notes = pod["metadata"]["annotations"]
    account = AccountTable.parse(notes["hai.jupyter.org/passwd"], notes["hai.jupyter.org/group"]).of("ann")
    assert (account.uid, account.gid, account.others) == (20017, 20017, (3100, 3200))
    assert (account.home, account.shell) == ("/home/ann", "/bin/bash")
    (container,) = pod["spec"]["containers"]
    assert {mount["mountPath"]: mount.get("subPath") for mount in container["volumeMounts"]} == {
        "/home/ann": None, "/etc/passwd": "passwd", "/etc/group": "group",
    }  # fmt: skip
    assert [one["value"] for one in container["env"] if one["name"] == "HOME"] == ["/home/ann"]
    assert container["workingDir"] == "/home/ann"
    (volume,) = (one for one in pod["spec"]["volumes"] if "downwardAPI" in one)
    assert [item["fieldRef"]["fieldPath"] for item in volume["downwardAPI"]["items"]] == [
        "metadata.annotations['hai.jupyter.org/passwd']",
        "metadata.annotations['hai.jupyter.org/group']",
    ]


async def test_without_a_mount_of_its_home_it_has_the_images(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = await as_ada(monkeypatch, account_files=False)
    (container,) = pod["spec"]["containers"]
    assert [one["value"] for one in container["env"] if one["name"] == "HOME"] == ["/home/jovyan"]
    assert "downwardAPI" not in json.dumps(pod)
    assert "hai.jupyter.org/passwd" not in json.dumps(pod)


@pytest.mark.parametrize(
    ("mounts", "settings", "group"),
    [
        ((), OWN_CLAIM, 20017),
        ((HOME,), OWN_CLAIM, 20017),
        ((SETS,), OWN_CLAIM, None),
        ((SETS,), {}, None),
        ((), {}, None),
        ((SETS,), {**OWN_CLAIM, "fs_gid": 3100}, 3100),
    ],
    ids=["own claim", "and a folder of the node", "and a shared claim", "shared claim", "nothing", "an admin's word"],
)
async def test_no_shared_volume_is_given_to_the_group_of_one_user(
    monkeypatch: pytest.MonkeyPatch, mounts: tuple[Mounted, ...], settings: dict[str, Any], group: int | None
) -> None:
    pod = await as_ada(monkeypatch, *mounts, **settings)
    assert pod["spec"]["securityContext"].get("fsGroup") == group


async def test_without_accounts_of_users_volumes_are_of_the_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = await as_ada(monkeypatch, SETS, identity=None)
    assert pod["spec"]["securityContext"] == {"fsGroup": 100}
    assert pod["spec"]["containers"][0]["securityContext"]["runAsUser"] == 1000
    assert "hai.jupyter.org/passwd" not in json.dumps(pod)
    assert faults(pod) == []


async def test_where_users_have_accounts_no_server_starts_as_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform may start servers without the scheduler's answer (`without_scheduler`)."""
    with pytest.raises(SpawnException, match="As whom your server runs"):
        await as_ada(monkeypatch, identity=None, own_accounts=True)


async def test_folders_of_groups_are_made_where_the_names_of_groups_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = await as_ada(monkeypatch, haienv_claim="haienv", haienv_root="/haienv", haienv_init_image="lab:1")
    (init,) = pod["spec"]["initContainers"]
    assert [one["mountPath"] for one in init["volumeMounts"][-2:]] == ["/etc/passwd", "/etc/group"]
