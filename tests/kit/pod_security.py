"""The checks of the pod security standard `restricted`, as a table: servers before 1.23 cannot enforce it.

By https://kubernetes.io/docs/concepts/security/pod-security-standards/, with all checks of `baseline`, for pods of
Linux. A pod is a plain dictionary, as it is sent to the API server. That volumes of a kind are allowed is said by their
names, so a kind that nobody has thought of is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Thing = Mapping[str, Any]
#: Yields what is wrong with a pod's spec, or with one of its containers.
Check = Callable[[Thing], Iterator[str]]

_VOLUMES: Final = frozenset(
    {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
)
_SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    }
)
_PROFILES: Final = frozenset({"RuntimeDefault", "Localhost"})
_SELINUX: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def faults(pod: Thing) -> list[str]:
    """Return what `restricted` refuses of a pod: a text for each, which begins with the name of the check."""
    spec = pod["spec"]
    found = [f"{name}: {what}" for name, check in POD_CHECKS.items() for what in check(spec)]
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            whole = {**container, "pod": spec.get("securityContext") or {}}
            found += [
                f"{name}: {container['name']}: {what}"
                for name, check in CONTAINER_CHECKS.items()
                for what in check(whole)
            ]
    notes = pod["metadata"].get("annotations") or {}
    found += [
        f"appArmor: {key} is {value}"
        for key, value in notes.items()
        if key.startswith("container.apparmor.security.beta.kubernetes.io/")
        and value != "runtime/default"
        and not value.startswith("localhost/")
    ]
    return found


# -- of the pod -----------------------------------------------------------------------------------------


def _host_namespaces(spec: Thing) -> Iterator[str]:
    yield from (f"{name} is set" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name))


def _volumes(spec: Thing) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        for kind in sorted(volume.keys() - {"name"} - _VOLUMES):
            if volume[kind] is not None:
                yield f"volume {volume['name']} is a {kind}"


def _sysctls(spec: Thing) -> Iterator[str]:
    for one in (spec.get("securityContext") or {}).get("sysctls") or ():
        if one["name"] not in _SYSCTLS:
            yield f"{one['name']} is set"


def _host_process(spec: Thing) -> Iterator[str]:
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    if options.get("hostProcess"):
        yield "hostProcess is set"


def _user_of_pod(spec: Thing) -> Iterator[str]:
    if (spec.get("securityContext") or {}).get("runAsUser") == 0:
        yield "the pod is root"


def _selinux_of_pod(spec: Thing) -> Iterator[str]:
    yield from _selinux(spec.get("securityContext") or {})


#: The checks of a pod's spec, by name.
POD_CHECKS: Final[Mapping[str, Check]] = {
    "hostNamespaces": _host_namespaces,
    "restrictedVolumes": _volumes,
    "sysctls": _sysctls,
    "hostProcess": _host_process,
    "runAsUser": _user_of_pod,
    "seLinux": _selinux_of_pod,
}


# -- of a container -------------------------------------------------------------------------------------


def _own(container: Thing) -> Thing:
    return container.get("securityContext") or {}


def _effective(container: Thing, name: str) -> Any:
    """Return a setting of the container, or else the pod's."""
    own = _own(container).get(name)
    return container["pod"].get(name) if own is None else own


def _privileged(container: Thing) -> Iterator[str]:
    if _own(container).get("privileged"):
        yield "it is privileged"


def _host_ports(container: Thing) -> Iterator[str]:
    yield from (f"port {port['hostPort']} of the host" for port in container.get("ports") or () if port.get("hostPort"))


def _escalation(container: Thing) -> Iterator[str]:
    if _own(container).get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation is not false"


def _capabilities(container: Thing) -> Iterator[str]:
    capabilities = _own(container).get("capabilities") or {}
    if "ALL" not in (capabilities.get("drop") or ()):
        yield "it does not drop ALL"
    yield from (f"it adds {name}" for name in capabilities.get("add") or () if name != "NET_BIND_SERVICE")


def _not_root(container: Thing) -> Iterator[str]:
    if _effective(container, "runAsNonRoot") is not True:
        yield "runAsNonRoot is not true"


def _user(container: Thing) -> Iterator[str]:
    if _own(container).get("runAsUser") == 0:
        yield "it is root"


def _seccomp(container: Thing) -> Iterator[str]:
    profile = (_effective(container, "seccompProfile") or {}).get("type")
    if profile not in _PROFILES:
        yield f"the profile is {profile}"


def _proc_mount(container: Thing) -> Iterator[str]:
    if _own(container).get("procMount") not in (None, "Default"):
        yield "procMount is not Default"


def _app_armor(container: Thing) -> Iterator[str]:
    profile = (_effective(container, "appArmorProfile") or {}).get("type")
    if profile not in (None, *_PROFILES):
        yield f"the profile is {profile}"


def _selinux_of_container(container: Thing) -> Iterator[str]:
    yield from _selinux(_own(container))


def _selinux(context: Thing) -> Iterator[str]:
    options = context.get("seLinuxOptions") or {}
    if options.get("type", "") not in _SELINUX:
        yield f"the type is {options['type']}"
    yield from (f"{name} is set" for name in ("user", "role") if options.get(name))


#: The checks of a container, by name. It has the pod's security context as `pod`.
CONTAINER_CHECKS: Final[Mapping[str, Check]] = {
    "privileged": _privileged,
    "hostPorts": _host_ports,
    "allowPrivilegeEscalation": _escalation,
    "capabilities": _capabilities,
    "runAsNonRoot": _not_root,
    "runAsUser": _user,
    "seccompProfile": _seccomp,
    "procMount": _proc_mount,
    "appArmor": _app_armor,
    "seLinux": _selinux_of_container,
}
