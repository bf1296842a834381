"""Settings of a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

Binding = Literal["affinity", "direct"]

#: What stands for all namespaces.
EVERYWHERE = "*"

#: The taints of those who remove, replace, repair or stop nodes. Not among them: what only says that a node might be
#: removed some day (DeletionCandidateOfClusterAutoscaler, rebalance-recommendation).
DRAIN_TAINTS = frozenset(
    {
        # cluster-autoscaler; Karpenter since 1.0, and before.
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        # What clouds say before they stop a machine: GKE, AKS, and AWS' node termination handler.
        "cloud.google.com/impending-node-termination",
        "remediator.kubernetes.azure.com/unschedulable",
        "aws-node-termination-handler/spot-itn",
        "aws-node-termination-handler/scheduled-maintenance",
        "aws-node-termination-handler/asg-lifecycle-termination",
        # medik8s: node maintenance, and the remediation of unhealthy nodes.
        "medik8s.io/drain",
        "medik8s.io/remediation",
    }
)

#: Seconds that a supervisor has after the last process of its rank, to send its log and its last words.
LAST_WORDS_S = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Everything that an admin may decide about pods. Sizes are bytes or Kubernetes quantities, as each field says."""

    #: The namespace of the runs.
    namespace: str
    #: The URL at which supervisors and jobs reach the service, without a slash at its end.
    api_url: str
    #: Folder, as pods see it, above the checkpoint folders of tasks that name none.
    checkpoint_root: str = "/checkpoints"
    #: Access to the API server; empty is the pod's service account or, outside of a cluster, KUBECONFIG.
    kubeconfig: str = ""
    context: str = ""

    #: The image of ranks when neither their task nor its environment names one.
    image: str = "python:3.12"
    #: Its architecture and its glibc; empty: what tasks find in it counts.
    image_machine: str = ""
    image_glibc: str = ""
    #: Brings the supervisor: its entry point copies `hai.pyz` into `/hai`.
    init_image: str = "hai-init"
    #: A ConfigMap of the namespace that holds `hai.pyz` instead; then there is no init container.
    client_config_map: str = ""
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    #: Whether the registry is asked, at submission, which image a tag of an environment means; for how long; by plain
    #: HTTP which ones; and the file with names and passwords (None: none are sent).
    resolve_images: bool = True
    registry_timeout: timedelta = timedelta(seconds=3)
    insecure_registries: frozenset[str] = frozenset()
    registry_auth_file: Path | None = None
    #: The Python in the image that starts the supervisor; 3.8 or newer.
    python: str = "python3"

    #: Names of the resources that are GPUs.
    gpu_resources: tuple[str, ...] = ("nvidia.com/gpu",)
    binding: Binding = "affinity"
    #: Which part of a node's CPUs and memory a whole-node rank requests; one of k GPUs requests k shares of it.
    cpu_share: float = 0.8
    memory_share: float = 0.8
    #: What the requests of ranks leave of each node for pods that are not tasks: CPUs, and a size. Small nodes request
    #: nothing at all, so that a machine that also carries the Hub and the cluster's own pods takes tasks as well.
    cpu_reserve: float = 2.0
    memory_reserve: str = "4Gi"
    #: Which part of a node's memory, and of its local storage, a whole-node rank may use at most; one of k GPUs has k
    #: shares of it; 0 is no limit.
    memory_limit_share: float = 0.9
    storage_limit_share: float = 0.8
    tolerations: tuple[Mapping[str, Any], ...] = ()
    #: What pods have besides the platform's own, for policies and tools of the cluster.
    extra_labels: Mapping[str, str] = field(default_factory=dict)
    extra_annotations: Mapping[str, str] = field(default_factory=dict)
    runtime_class: str = ""
    priority_class: str = ""
    service_account: str = ""
    #: The account of ranks whose users have none of their own, and of copies of environments on nodes.
    run_as_user: int = 1000
    run_as_group: int = 100
    #: Whether ranks with an account of their user's see it in /etc/passwd and /etc/group, instead of the image's files.
    account_files: bool = True
    #: The size of /dev/shm where a fabric names none; empty is half of the node's memory.
    shm_size: str = "16Gi"
    #: The same port in every pod that has a network of its own.
    master_port: int = 29500

    #: The claim with the environments of haienv, and where ranks see it, for reading. Empty: mount rules show it, or
    #: nothing does.
    haienv_claim: str = ""
    haienv_root: str = ""
    #: Which environments a rank sees there: `own`, or `all`.
    haienv_readable: str = "all"
    #: What builds of environments need there: the image of the init container that makes their owner's folder (see
    #: `haienv_image`), the number of the group that may make it, and variables.
    haienv_makers: int = 60100
    haienv_build_variables: Mapping[str, str] = field(default_factory=dict)
    #: The image of init containers that make folders and copies of environments: it has `haienv`.
    haienv_image: str = ""
    #: The claim of a folder of each node's own disk, where an init container keeps copies of environments for ranks;
    #: and after how many days without use a copy goes. Empty: ranks read the shared one.
    haienv_local_claim: str = ""
    haienv_local_days: float = 30.0

    #: The shared log volume: its folder for this service, and its claim for pods. Both are set, or neither.
    log_dir: Path | None = None
    log_claim: str = ""
    log_max_bytes: int = 64 * 1024 * 1024
    log_parts: int = 8

    #: Namespaces whose pods count in what nodes have left for runs (F5); `*`: all. Empty: no pods from outside of HAI
    #: are looked at.
    foreign_pods: tuple[str, ...] = ()
    #: Keys of taints by which others say that they take a node away: the runs on it are told to leave.
    drain_taints: frozenset[str] = DRAIN_TAINTS

    #: Labels of nodes.
    group_label: str = "hai.jupyter.org/group"
    leaf_label: str = "hai.jupyter.org/leaf"
    zone_label: str = "topology.kubernetes.io/zone"
    #: More groups: the nodes that a label selector matches, by group.
    groups: Mapping[str, str] = field(default_factory=dict)
    #: Groups that are not for tasks.
    ignored_groups: frozenset[str] = frozenset({"jupyter"})

    #: Between SIGTERM and SIGKILL of the processes of a rank.
    term_wait: timedelta = timedelta(seconds=10)
    #: A gang that is not up after this time is taken down.
    start_timeout: timedelta = timedelta(minutes=10)
    #: The same for a rank whose image cannot be pulled or whose container cannot be created.
    blocked_timeout: timedelta = timedelta(minutes=2)
    #: Ranks on a node that has not been ready for this time are lost.
    lost_after: timedelta = timedelta(minutes=5)
    #: Nothing is decided when the API server has not been heard of for this time.
    stale_after: timedelta = timedelta(seconds=30)
    #: How often all objects are listed again, in case a watch has missed something.
    relist_every: timedelta = timedelta(minutes=10)
    #: How often a watch is opened again, which shows that the API server is there.
    watch_for: timedelta = timedelta(seconds=10)
    #: Requests that may be under way at once, beside watches.
    parallel: int = 32

    @property
    def term_wait_s(self) -> int:
        """Seconds between SIGTERM and SIGKILL of a rank's processes."""
        return max(1, round(self.term_wait.total_seconds()))

    @property
    def kill_grace_s(self) -> int:
        """Grace period in seconds of a pod that is killed: for its processes, then for its supervisor's last words."""
        return self.term_wait_s + LAST_WORDS_S

    def grace_s(self, grace: timedelta) -> int:
        """Return the grace period in seconds of a pod that is evicted, from the grace of its task."""
        return max(0, round(grace.total_seconds())) + self.kill_grace_s
