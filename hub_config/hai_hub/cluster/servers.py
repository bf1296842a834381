"""Turn `singleuser` and `cull` of the chart's values into settings of the spawner and the culler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hai_hub.cluster.chart_env import ChartEnv
from hai_hub.culler.settings import NEVER

Traits = dict[str, Any]

#: KubeSpawner's settings, and the value below `singleuser` that each comes from.
_KUBE: Final = {
    "allow_privilege_escalation": "allowPrivilegeEscalation",
    "cmd": "cmd",
    "cpu_guarantee": "cpu.guarantee",
    "cpu_limit": "cpu.limit",
    "default_url": "defaultUrl",
    "environment": "extraEnv",
    "events_enabled": "events",
    "extra_annotations": "extraAnnotations",
    "extra_containers": "extraContainers",
    "extra_pod_config": "extraPodConfig",
    "extra_resource_guarantees": "extraResource.guarantees",
    "extra_resource_limits": "extraResource.limits",
    "fs_gid": "fsGid",
    "image_pull_policy": "image.pullPolicy",
    "init_containers": "initContainers",
    "lifecycle_hooks": "lifecycleHooks",
    "mem_guarantee": "memory.guarantee",
    "mem_limit": "memory.limit",
    "node_affinity_preferred": "extraNodeAffinity.preferred",
    "node_affinity_required": "extraNodeAffinity.required",
    "node_selector": "nodeSelector",
    "pod_name_template": "podNameTemplate",
    "service_account": "serviceAccountName",
    "start_timeout": "startTimeout",
    "tolerations": "extraTolerations",
}
#: Settings of HAI's spawner, and the value below `singleuser` that each comes from.
_HAI: Final = {"default_size": "defaultSize", "groups": "groups", "limits": "limits", "sizes": "sizes"}


def server_traits(around: ChartEnv) -> dict[str, Traits]:
    """Return the spawner's settings, by class and trait. Empty values are left out, so the spawner's defaults hold."""
    own: Traits = {
        "ask_scheduler": True,
        "hai_api_url": around.api_url,
        "hai_url": around.public_url + around.value("hub.baseUrl").rstrip("/"),
        "scheduler_token_file": around.spawner_token_file,
    }
    own |= _given(around, _HAI) | _environments(around)
    kube: Traits = {
        "common_labels": {"app": "jupyterhub", "release": around.release},
        "extra_labels": dict(around.value("singleuser.extraLabels")),
        "image": image(around, around.value("singleuser.image")),
        "image_pull_secrets": [*around.value("imagePullSecrets"), *around.value("singleuser.image.pullSecrets")],
        "namespace": around.namespace,
    }
    kube |= _given(around, _KUBE) | _storage(around.value("singleuser.storage"))
    kube |= {"uid": around.value("singleuser.uid") or around.value("identity.uid"), "gid": around.value("identity.gid")}
    own |= {
        "account_files": around.value("identity.accountFiles"),
        "own_accounts": around.value("identity.source") != "fixed",
        "home_path": around.value("singleuser.storage.homeMountPath"),
    }
    if around.value("haienv.enabled"):
        # An environment whose Python lies in the server's image would not start in another image.
        pythons = {"UV_PYTHON_PREFERENCE": around.value("haienv.pythons")}
        kube["environment"] = pythons | dict(kube.get("environment", {}))
    if "service_account" in kube:
        kube["automount_service_account_token"] = True
    return {"HaiKubeSpawner": own, "KubeSpawner": kube}


def _environments(around: ChartEnv) -> Traits:
    """Return the settings that mount the environments of haienv; empty where there are none."""
    if not around.value("haienv.enabled"):
        return {}
    return {
        "haienv_claim": around.value("haienv.claim"),
        "haienv_init_image": image(around, around.value("singleuser.image")),
        "haienv_readable": around.value("haienv.readable"),
        "haienv_makers": around.value("haienv.makersGid"),
        "haienv_root": around.value("haienv.root"),
    }


def culling_traits(cull: Mapping[str, Any]) -> Traits:
    """Return the settings of `HaiCulling` from `cull` of the chart's values: times in seconds, 0 for never."""

    def span(seconds: int) -> str:
        return f"{seconds}s" if seconds else NEVER

    return {"enabled": cull["enabled"], "idle": span(cull["timeout"]), "lifetime": span(cull["maxAge"])}


def image(around: ChartEnv, wanted: Mapping[str, Any]) -> str:
    """Return an image with registry and tag, or with its digest instead of the tag, as the chart's templates do."""
    registry = around.value("imageRegistry")
    prefix = f"{registry}/" if registry and "/" not in wanted["name"] else ""
    tag = wanted["digest"] or wanted["tag"] or around.version
    return f"{prefix}{wanted['name']}{'@' if tag.startswith('sha256:') else ':'}{tag}"


def _given(around: ChartEnv, table: Mapping[str, str]) -> Traits:
    found = {trait: around.value(f"singleuser.{name}") for trait, name in table.items()}
    return {trait: value for trait, value in found.items() if value is not None and value not in ([], {}, "")}


def _storage(storage: Mapping[str, Any]) -> Traits:
    volumes, mounts = _listed(storage["extraVolumes"]), _listed(storage["extraVolumeMounts"])
    home = {"mountPath": storage["homeMountPath"]}
    traits: Traits = {"storage_pvc_ensure": storage["type"] == "dynamic"}
    if storage["type"] == "dynamic":
        traits |= _claims(storage)
        name = storage["dynamic"]["volumeNameTemplate"]
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": "{pvc_name}"}}, *volumes]
        mounts = [{"name": name, **home}, *mounts]
    elif storage["type"] == "static":
        claim = storage["static"]["pvcName"]
        if not claim:
            raise ValueError("singleuser.storage.static.pvcName is empty: name the claim with the users' home folders")
        volumes = [{"name": "home", "persistentVolumeClaim": {"claimName": claim}}, *volumes]
        mounts = [{"name": "home", **home, "subPath": storage["static"]["subPath"]}, *mounts]
    return traits | {"volumes": volumes, "volume_mounts": mounts}


def _claims(storage: Mapping[str, Any]) -> Traits:
    dynamic = storage["dynamic"]
    traits: Traits = {
        "storage_access_modes": dynamic["storageAccessModes"],
        "storage_capacity": storage["capacity"],
        "storage_extra_labels": dict(storage["extraLabels"]),
    }
    if dynamic["storageClass"] is not None:
        traits["storage_class"] = dynamic["storageClass"]
    if dynamic["pvcNameTemplate"] is not None:
        traits["pvc_name_template"] = dynamic["pvcNameTemplate"]
    return traits


def _listed(entries: Any) -> list[Any]:
    """Return a list as it is, and the values of a dict in the order of their names."""
    return [entries[name] for name in sorted(entries)] if isinstance(entries, Mapping) else list(entries)
