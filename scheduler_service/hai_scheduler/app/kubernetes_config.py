"""Settings of a Kubernetes cluster: traitlets, turned into `ClusterSettings`. Needs no Kubernetes package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from traitlets import Bool, Dict, Enum, Float, Int, List, Unicode
from traitlets.config import Configurable

from hai_client.durations import parse_duration
from hai_client.quantity import parse_quantity
from hai_scheduler.adapters.kubernetes.names import KEY, fault_of_extra
from hai_scheduler.adapters.kubernetes.selectors import SelectorError, parse_selector
from hai_scheduler.adapters.kubernetes.settings import DRAIN_TAINTS, EVERYWHERE, ClusterSettings
from hai_scheduler.core.workspace.abi import GLIBC, MACHINE

#: The file in which a pod finds its own namespace.
OWN_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_TIMES: Final = (
    "term_wait",
    "start_timeout",
    "blocked_timeout",
    "lost_after",
    "stale_after",
    "relist_every",
    "watch_for",
    "registry_timeout",
)


class KubernetesError(ValueError):
    """A setting is wrong; the message names it, its value and the remedy."""


class KubernetesSettings(Configurable):
    """Ranks as pods (`HaiScheduler.cluster = "kubernetes"`). Lengths of time: `90s`, `15m`, `4h`."""

    namespace = Unicode("", help="Namespace of the runs; empty is the one that the service itself runs in.").tag(
        config=True
    )
    api_url = Unicode(
        "",
        help="Address at which pods reach this service, for example `http://hai.jupyter:8090/services/hai/api/v1`. "
        "Must be given.",
    ).tag(config=True)
    checkpoint_root = Unicode(
        "/checkpoints",
        help="Folder, as pods see it, for the checkpoints of tasks that name no folder: a mount rule "
        "should put shared storage there.",
    ).tag(config=True)
    kubeconfig = Unicode(
        "", help="kubeconfig file; empty is the pod's service account or, outside of a cluster, KUBECONFIG."
    ).tag(config=True)
    context = Unicode("", help="Context of the kubeconfig file; empty is its current one.").tag(config=True)
    image = Unicode("python:3.12", help="Image of ranks whose environment names none.").tag(config=True)
    image_machine = Unicode(
        "",
        help="Architecture of that image, such as `x86_64` (`uname -m`); empty, with `image_glibc`: what tasks find in"
        " it counts.",
    ).tag(config=True)
    image_glibc = Unicode(
        "",
        help="The glibc of that image, such as `2.31` (`ldd --version`): environments of haienv that need a newer one "
        "are refused at submission.",
    ).tag(config=True)
    init_image = Unicode("hai-init", help="Image of the init container that installs the supervisor.").tag(config=True)
    client_config_map = Unicode(
        "",
        help="ConfigMap of the namespace with the supervisor in its key `hai.pyz` "
        "(`python -m hai_client.archive hai.pyz`), instead of an init container.",
    ).tag(config=True)
    image_pull_policy = Enum(["Always", "IfNotPresent", "Never"], "IfNotPresent", help="When images are pulled.").tag(
        config=True
    )
    image_pull_secrets = List(Unicode(), help="Secrets of the namespace for pulling images.").tag(config=True)
    resolve_images = Bool(
        True,
        help="Whether a task goes on with the image that the tag of its environment meant at submission: the registry "
        "is asked for its digest. Where it does not answer, the tag counts at each start, and the submission says so.",
    ).tag(config=True)
    registry_timeout = Unicode("3s", help="How long a registry may take to tell the digest of an image.").tag(
        config=True
    )
    insecure_registries = List(
        Unicode(), help="Registries that are asked by plain HTTP, as `HOST:PORT`; no password is sent to them."
    ).tag(config=True)
    registry_auth_file = Unicode(
        "",
        help="File of a pull secret (`.dockerconfigjson`) with which registries are asked; empty: they are asked "
        "without a name, and private images stay by their tags.",
    ).tag(config=True)
    python = Unicode("python3", help="Python that starts the supervisor in the image: 3.8 or newer.").tag(config=True)
    gpu_resources = List(Unicode(), ["nvidia.com/gpu"], help="Resources that are GPUs.").tag(config=True)
    binding = Enum(
        ["affinity", "direct"],
        "affinity",
        help="How a pod gets to its node: by a required affinity, so that the scheduler of Kubernetes checks that it "
        "fits, or directly, which is faster.",
    ).tag(config=True)
    cpu_share = Float(
        0.8, help="Which part of a node's CPUs a whole-node rank requests; k GPUs request k shares of it; 0 is none."
    ).tag(config=True)
    memory_share = Float(0.8, help="The same share of a node's memory.").tag(config=True)
    cpu_reserve = Float(
        2.0,
        help="CPUs of each node that ranks never request, whatever their share: for the Hub, users' servers and the "
        "cluster's own pods.",
    ).tag(config=True)
    memory_reserve = Unicode("4Gi", help="The same for memory; empty is none.").tag(config=True)
    memory_limit_share = Float(
        0.9,
        help="Which part of a node's memory a whole-node rank may use at most, /dev/shm included; k GPUs have k shares "
        "of it; 0 is no limit.",
    ).tag(config=True)
    storage_limit_share = Float(
        0.8,
        help="The same for the node's local storage: what a rank writes into its container, /tmp and its output. 0 is "
        "no limit.",
    ).tag(config=True)
    tolerations = List(
        Dict(),
        [
            {"key": "hai.jupyter.org/group", "operator": "Exists"},
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        ],
        help="Tolerations of the pods, as Kubernetes writes them.",
    ).tag(config=True)
    extra_labels = Dict(
        help='More labels of the pods of ranks, for example `{"example.org/team": "ml"}`; none of the platform\'s own.'
    ).tag(config=True)
    extra_annotations = Dict(help="More annotations of the pods of ranks.").tag(config=True)
    runtime_class = Unicode("", help="Runtime class of the pods, for example `nvidia`.").tag(config=True)
    priority_class = Unicode("", help="Priority class of the pods.").tag(config=True)
    service_account = Unicode("", help="Service account of the pods; no token of it is mounted.").tag(config=True)
    run_as_user = Int(
        1000,
        help="User id of ranks whose users have no account of their own (see IdentityConfig), and of copies of "
        "environments on nodes; not 0.",
    ).tag(config=True)
    run_as_group = Int(100, help="Their group id, and that of builds for groups and for all.").tag(config=True)
    account_files = Bool(
        True,
        help="Whether ranks with an account of their user's have it in /etc/passwd and /etc/group, in the place of the "
        "image's files.",
    ).tag(config=True)
    shm_size = Unicode(
        "16Gi", help="Size of /dev/shm, where a fabric names none; empty is half of the node's memory."
    ).tag(config=True)
    master_port = Int(29500, help="MASTER_PORT of pods that have a network of their own.").tag(config=True)
    haienv_claim = Unicode(
        "",
        help="Claim of the namespace with the environments of haienv: every rank sees it at `HaiScheduler.haienv_root`,"
        " read-only; a build of an environment may write the folder of its owner. Empty: a mount rule shows them.",
    ).tag(config=True)
    haienv_readable = Enum(
        ["own", "all"],
        "all",
        help="With `haienv_claim`: which environments a rank sees. `own`: those of its user, of the user's groups and "
        "the base ones, and the one that its task is pinned to. `all`: all of the volume.",
    ).tag(config=True)
    haienv_makers = Int(
        60100,
        help="With `haienv_claim`: number of the group that may make folders of users and groups: the one of `haienv "
        "init --makers`. The init container of builds alone has it.",
    ).tag(config=True)
    haienv_build_variables = Dict(
        help='With `haienv_claim`: variables of builds of environments, for example `{"UV_PYTHON_PREFERENCE": '
        '"only-managed"}`.',
    ).tag(config=True)
    haienv_local_claim = Unicode(
        "",
        help="Claim of a volume that is a folder of each node's own disk (a `hostPath` volume). An init container "
        "copies a task's environment there, compared with its digest, once for all ranks of the node, and they run it "
        "from there. It belongs to `run_as_user`. Empty: ranks read the shared volume.",
    ).tag(config=True)
    haienv_image = Unicode(
        "",
        help="Image of the init containers that make the folder of a build's owner and copies on nodes: it has "
        "`haienv` on its PATH, and may have `unsquashfs`. `haienv_claim` needs it.",
    ).tag(config=True)
    haienv_local_days = Float(
        30.0, help="Days after which a copy that no start has used is removed; longer than any run takes."
    ).tag(config=True)
    log_dir = Unicode(
        "", help="Where this service sees the shared log volume; empty: ranks send their logs to the service."
    ).tag(config=True)
    log_claim = Unicode("", help="The persistent volume claim by which pods see the shared log volume.").tag(
        config=True
    )
    log_max_bytes = Int(64 * 1024 * 1024, help="Bytes of each rank's log that are kept on the volume.").tag(config=True)
    foreign_pods = List(
        Unicode(),
        help="Namespaces whose pods count in what training nodes have left for runs: `ops`, or `*` for all. The "
        "account needs the right to list and watch pods there. Empty: a run finds out when it starts.",
    ).tag(config=True)
    drain_taints = List(
        Unicode(),
        sorted(DRAIN_TAINTS),
        help="Keys of taints by which others say that they take a node away: the runs on it are told to leave, with "
        "their whole notice. Taints of other keys only close a node.",
    ).tag(config=True)
    group_label = Unicode("hai.jupyter.org/group", help="Label of nodes that names their group.").tag(config=True)
    leaf_label = Unicode("hai.jupyter.org/leaf", help="Label of nodes that names their leaf switch.").tag(config=True)
    zone_label = Unicode("topology.kubernetes.io/zone", help="Label of nodes that names their zone.").tag(config=True)
    groups = Dict(
        help='More node groups, by label selector: `{"training": "gpu in (a100,h100),!spot"}`. A node in two groups is '
        "closed."
    ).tag(config=True)
    ignored_groups = List(Unicode(), ["jupyter"], help="Groups whose nodes are not for tasks.").tag(config=True)
    term_wait = Unicode("10s", help="Time between SIGTERM and SIGKILL of a rank's processes.").tag(config=True)
    start_timeout = Unicode(
        "10m", help="A gang that is not up after this time is removed and started on other nodes."
    ).tag(config=True)
    blocked_timeout = Unicode("2m", help="The same for a rank whose image cannot be pulled.").tag(config=True)
    lost_after = Unicode("5m", help="Ranks on a node that has not been ready for this time count as lost.").tag(
        config=True
    )
    stale_after = Unicode("30s", help="When the API server has not answered for this time, nothing is decided.").tag(
        config=True
    )
    relist_every = Unicode("10m", help="Time between two complete lists of all objects, beside the watches.").tag(
        config=True
    )
    watch_for = Unicode("10s", help="Length of a watch before it is opened again; at most half of stale_after.").tag(
        config=True
    )
    parallel = Int(32, help="How many requests to the API server may run at once.").tag(config=True)

    def frozen(self, haienv_root: str = "") -> ClusterSettings:
        """The checked settings, as the adapter takes them.

        Args:
            haienv_root: The folder of the environments of haienv; empty: there are none.

        Raises:
            KubernetesError: A setting is wrong.
        """
        values = {name: getattr(self, name) for name in self.class_own_traits(config=True)}
        for name in _TIMES:
            values[name] = self._time(name)
        for name, check in _CHECKS.items():
            wrong = check(values[name])
            if wrong:
                raise self._wrong(name, wrong)
        for name, kind in _KINDS.items():
            values[name] = kind(values[name])
        values["namespace"] = self._namespace()
        values["api_url"] = self.api_url.rstrip("/")
        values["registry_auth_file"] = Path(self.registry_auth_file) if self.registry_auth_file else None
        values["log_dir"] = Path(self.log_dir) if self.log_dir else None
        if bool(self.log_dir) is not bool(self.log_claim):
            raise self._wrong("log_claim", "name both the folder (log_dir) and the claim of the log volume, or neither")
        if self.haienv_claim and not haienv_root:
            raise self._wrong("haienv_claim", "say where ranks see it: HaiScheduler.haienv_root")
        if self.haienv_claim and not self.haienv_image:
            raise self._wrong("haienv_claim", "set haienv_image too: with it a build makes the folder of its owner")
        if self.haienv_local_claim and not self.haienv_claim:
            raise self._wrong("haienv_local_claim", "set haienv_claim and haienv_image too")
        values["haienv_root"] = haienv_root.rstrip("/")
        settings = ClusterSettings(**values)
        if settings.watch_for * 2 > settings.stale_after:
            raise self._wrong("watch_for", f"make it at most half of stale_after, which is {self.stale_after}")
        return settings

    def _time(self, name: str) -> timedelta:
        return timedelta(seconds=parse_duration(getattr(self, name), field=f"KubernetesSettings.{name}"))

    def _namespace(self) -> str:
        if self.namespace:
            return str(self.namespace)
        try:
            return OWN_NAMESPACE.read_text(encoding="ascii").strip()
        except OSError:
            raise self._wrong("namespace", "name the namespace of the runs") from None

    def _wrong(self, name: str, remedy: str) -> KubernetesError:
        return KubernetesError(f"KubernetesSettings.{name}: is {getattr(self, name)!r:.100}: {remedy}")


def _share(value: float) -> str:
    return "" if 0 <= value <= 1 else "write a part of the node, from 0 to 1"


def _not_negative(value: float) -> str:
    return "" if value >= 0 else "write a number of CPUs, 0 or more"


def _positive(value: float) -> str:
    return "" if value > 0 else "write a number greater than 0"


def _url(value: str) -> str:
    good = re.match(r"https?://[^/]+", value)
    return "" if good else "write the address that pods reach this service at, for example http://hai.jupyter:8090/..."


def _absolute(value: str) -> str:
    return "" if value.startswith("/") else "write an absolute path"


def _namespace(value: str) -> str:
    return "" if not value or _NAME.fullmatch(value) else "write the name of a namespace: a-z, 0-9 and -"


def _size(value: str) -> str:
    try:
        return "" if not value or parse_quantity(value) > 0 else "write a size such as 16Gi"
    except ValueError as error:
        return str(error)


def _groups(value: Mapping[object, object]) -> str:
    try:
        for group, selector in value.items():
            if not isinstance(group, str) or not isinstance(selector, str):
                return 'write group names and label selectors, for example {"training": "gpu=a100"}'
            parse_selector(selector)
    except SelectorError as error:
        return str(error)
    return ""


def _texts(value: Mapping[object, object]) -> str:
    good = all(isinstance(part, str) for pair in value.items() for part in pair)
    return "" if good else "write names of variables and their values, all as text"


def _labels(value: Mapping[object, object]) -> str:
    return next(filter(None, (fault_of_extra(*pair, label=True) for pair in value.items())), "")


def _namespaces(value: Iterable[object]) -> str:
    good = all(isinstance(name, str) and (name == EVERYWHERE or _NAME.fullmatch(name)) for name in value)
    return "" if good else f'write names of namespaces, or "{EVERYWHERE}" for all'


def _taint_keys(value: Iterable[object]) -> str:
    bad = next((key for key in value if not (isinstance(key, str) and KEY.fullmatch(key))), None)
    return "" if bad is None else f"write the key of a taint alone, such as karpenter.sh/disrupted, not {bad!r:.100}"


def _annotations(value: Mapping[object, object]) -> str:
    return next(filter(None, (fault_of_extra(*pair, label=False) for pair in value.items())), "")


def _machine(value: str) -> str:
    return "" if not value or re.fullmatch(MACHINE, value) else "write for example x86_64"


def _glibc(value: str) -> str:
    return "" if not value or re.fullmatch(GLIBC, value) else "write for example 2.31"


_CHECKS: Final[Mapping[str, Callable[[Any], str]]] = {
    "namespace": _namespace,
    "api_url": _url,
    "image_machine": _machine,
    "image_glibc": _glibc,
    "checkpoint_root": _absolute,
    "cpu_share": _share,
    "memory_share": _share,
    "memory_limit_share": _share,
    "storage_limit_share": _share,
    "cpu_reserve": _not_negative,
    "memory_reserve": _size,
    "run_as_user": _positive,
    "run_as_group": _positive,
    "haienv_local_days": _positive,
    "haienv_makers": _positive,
    "haienv_build_variables": _texts,
    "log_max_bytes": _positive,
    "master_port": _positive,
    "parallel": _positive,
    "shm_size": _size,
    "groups": _groups,
    "foreign_pods": _namespaces,
    "drain_taints": _taint_keys,
    "extra_labels": _labels,
    "extra_annotations": _annotations,
}
_KINDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "image_pull_secrets": tuple,
    "gpu_resources": tuple,
    "tolerations": tuple,
    "foreign_pods": tuple,
    "drain_taints": frozenset,
    "insecure_registries": frozenset,
    "ignored_groups": frozenset,
}
