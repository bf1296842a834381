"""Start JupyterLab servers as pods on the Jupyter node group. Importing this takes seconds: only the Hub does it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from kubernetes_asyncio.client.models import V1EnvVar
from kubernetes_asyncio.client.rest import ApiException
from kubespawner import KubeSpawner
from traitlets import Bool, Enum, Int, List, TraitError, Unicode, default, validate

from hai_client.wire.storage import ContainerEnvironment
from hai_spawner.containers.haienv_paths import haienv_name
from hai_spawner.containers.haienv_volume import EnvironmentVolume, add_environments
from hai_spawner.containers.manifest import add_account, add_mounts, claims_of, is_below, paths_of, require_group
from hai_spawner.containers.menu import Refusal, Why
from hai_spawner.containers.mixin import HaiSpawnerMixin
from hai_spawner.containers.refused import refusal_of, spawn_exception, words_of
from hai_spawner.sizes.capacity import NodeCapacity, PendingPod, rooms, server_of
from hai_spawner.sizes.catalogue import Size
from hai_spawner.sizes.nodes import CapacityReader, Unreadable

#: Label of the pod with the name of its size.
SIZE_LABEL = "hai.jupyter.org/size"


class HaiKubeSpawner(HaiSpawnerMixin, KubeSpawner):
    """A development container: a pod on the nodes of the Jupyter group, of a size, with the user's folders."""

    group_label = Unicode("hai.jupyter.org/group", config=True, help="Key of the node label that names a node's group.")
    groups = List(
        Unicode(),
        ["jupyter"],
        minlen=1,
        config=True,
        help="Node groups that development containers may run on. Pods require one of them; no other setting changes "
        "that.",
    )
    capacity = Bool(
        True,
        config=True,
        help="Whether free capacity is read and shown, and a size that does not fit now is refused. The Hub needs the "
        "right to list nodes.",
    )
    capacity_all_namespaces = Bool(
        False,
        config=True,
        help="Whether pods of all namespaces count as used capacity. The Hub needs the right to list them.",
    )

    haienv_claim = Unicode(
        "",
        config=True,
        help="Claim of the namespace with all environments of haienv: it is mounted read-only at `haienv_root`, and "
        "the folders of the user and of the user's groups for writing. Empty: other settings mount it.",
    )
    haienv_readable = Enum(
        ["own", "all"],
        "all",
        config=True,
        help="Which environments a server sees there. `own`: those of its user, of the user's groups, the base ones "
        "and those that others share, as the scheduler service says when the server starts. `all`: all of the volume.",
    )
    haienv_init_image = Unicode(
        "",
        config=True,
        help="Image of the init container that makes these folders; it has `haienv` on its PATH. Empty: the image of "
        "servers whose size and environment name none.",
    )
    haienv_makers = Int(
        60100,
        min=1,
        config=True,
        help="Number of the group that may make folders of users and groups: the one of `haienv init --makers`. The "
        "init container alone has it.",
    )

    own_accounts = Bool(
        False,
        config=True,
        help="Whether each user has an account of their own, which the scheduler service names. Then no server starts "
        "without one.",
    )
    account_files = Bool(
        True,
        config=True,
        help="Whether a server with an account of its user's has it in /etc/passwd and /etc/group, in the place of the "
        "image's files.",
    )

    home_path = Unicode(
        "/home/jovyan",
        config=True,
        help="Home folder of a server with an account of its user's, where nothing is mounted at the account's own.",
    )

    # The base class has no types.
    uid: Any
    gid: Any
    supplemental_gids: Any
    storage_pvc_ensure: bool
    pvc_name: str
    node_selector: dict[str, str]
    extra_resource_limits: dict[str, str]
    extra_resource_guarantees: dict[str, str]

    image: str
    image_pull_policy: str | None
    #: The image before the user's choices.
    _configured_image = ""

    _readers: ClassVar[dict[tuple[int, str, str | None], CapacityReader]] = {}

    @validate("profile_list")
    def _no_profile_list(self, proposal: Any) -> Any:
        if proposal.value:
            raise TraitError("HaiKubeSpawner.profile_list is set: describe profiles as HaiKubeSpawner.sizes instead")
        return proposal.value

    @default("cmd")
    def _default_cmd(self) -> list[str]:
        return ["jupyterhub-singleuser"]

    @default("uid")
    def _default_uid(self) -> int:
        return 1000

    @default("gid")
    def _default_gid(self) -> int:
        return 100

    @default("container_security_context")
    def _default_container_security_context(self) -> dict[str, Any]:
        return {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }

    @default("automount_service_account_token")
    def _default_automount(self) -> bool:
        return False

    @default("start_timeout")
    def _default_start_timeout(self) -> int:
        # A node may have to pull the image first.
        return 600

    @default("http_timeout")
    def _default_http_timeout(self) -> int:
        return 90

    @property
    def node_group(self) -> str:
        """The first of the node groups, as mount rules are for one node group."""
        return str(self.groups[0])

    async def load_user_options(self) -> None:
        """Do nothing: `run_pre_spawn_hook` applies the options, before the Hub reads `start_timeout`."""

    async def rooms(self) -> Sequence[NodeCapacity] | None:
        """Return what is free on the nodes of the groups, less the grants that have no pod yet."""
        if not self.capacity:
            return None
        try:
            reading = await self._reader().read()
        except Unreadable as error:
            self.log.warning("Free capacity is not known: %s", error)
            return None
        own = (self.user.name, self.name)
        servers = {server_of(pod) for pod in reading.pods}
        sizes = self.known_sizes()
        pending = [
            PendingPod(needs=sizes[grant.size].needs, node_selector=sizes[grant.size].node_selector)
            for grant in self.allocations.others(*own)
            if grant.key not in servers and grant.size in sizes
        ]
        # A pod of the same server is deleted before the new one is made.
        pods = [pod for pod in reading.pods if server_of(pod) != own]
        tolerations = self._sorted_dict_values(self.tolerations)
        return rooms(reading.nodes, pods, tolerations=tolerations, claims=pending)

    def _reader(self) -> CapacityReader:
        namespace = None if self.capacity_all_namespaces or self.enable_user_namespaces else self.namespace
        selector = f"{self.group_label} in ({','.join(sorted(self.groups))})"
        # The key holds the API client: a client belongs to one event loop.
        key = (id(self.api), selector, namespace)
        return self._readers.setdefault(key, CapacityReader(self.api, selector, namespace))

    def take(self, size: Size | None, environment: ContainerEnvironment | None) -> None:
        """Apply a size and an environment: image, devices and node selector, and what every spawner sets."""
        super().take(size, environment)
        if (identity := self._container_config.identity) is not None:
            self.uid, self.gid = identity.uid, identity.groups[0].gid
            self.supplemental_gids = [group.gid for group in identity.groups[1:]]
        self._configured_image = self.image
        image = (environment.image if environment else None) or (size.image if size else None)
        if image is not None:
            self.image = image
        if size is None:
            return
        self.node_selector = {**self.node_selector, **size.node_selector}
        if size.resource is not None:
            count = {size.resource: str(size.count)}
            self.extra_resource_limits = {**self.extra_resource_limits, **count}
            self.extra_resource_guarantees = {**self.extra_resource_guarantees, **count}

    def get_env(self) -> dict[str, str]:
        """Return the server's environment variables.

        A server without a GPU gets `NVIDIA_VISIBLE_DEVICES=void`, because images for GPUs else see all GPUs of a node.
        """
        env: dict[str, str] = super().get_env()
        if self.haienv_claim and haienv_name(self.user.name):
            own = f"{self.haienv_root}/users/{self.user.name}"
            # Hard links from the cache need the same mount, and the name is for those who wait for a build.
            env.setdefault("UV_CACHE_DIR", f"{own}/.cache/uv")
            env.setdefault("LOGNAME", self.user.name)
        if not any("/" in name for name in self.extra_resource_limits):
            env.setdefault("NVIDIA_VISIBLE_DEVICES", "void")
        return env

    async def get_pod_manifest(self) -> Any:
        """Return KubeSpawner's pod, restricted to the node groups, with the user's folders."""
        pod = await super().get_pod_manifest()
        require_group(pod, self.group_label, self.groups)
        # Without this the server's environment would list all Services of the namespace.
        pod.spec.enable_service_links = bool(pod.spec.enable_service_links)
        try:
            add_mounts(pod, self._container_config.mounts)
            if self.haienv_claim:
                self._add_environments(pod)
            self._add_account(pod)
        except Refusal as refusal:
            raise spawn_exception(refusal) from None
        if self._size is not None:
            pod.metadata.labels = {**(pod.metadata.labels or {}), SIZE_LABEL: self._size.name}
        return pod

    def _add_account(self, pod: Any) -> None:
        """Say who the pod is beyond the numbers of its container, which KubeSpawner has written."""
        identity = self._container_config.identity
        rights = dict(pod.spec.security_context or {})
        if "fsGroup" not in rights and (group := self._volume_group(pod)) is not None:
            pod.spec.security_context = {**rights, "fsGroup": group}
        if identity is None:
            if self.own_accounts:
                raise Refusal(
                    Why.SCHEDULER,
                    "As whom your server runs could not be found out, and as nobody else is it started. Try again in a "
                    "moment, and tell an administrator if it lasts.",
                )
            return
        home = next((identity.home for path in paths_of(pod) if is_below(identity.home, path)), self.home_path)
        container = pod.spec.containers[0]
        # The image has a home folder for its own users alone: with another number, HOME would be `/`.
        container.env = [*(one for one in container.env or [] if one.name != "HOME"), V1EnvVar(name="HOME", value=home)]
        container.working_dir = container.working_dir or home
        if self.account_files:
            add_account(pod, identity, home)

    def _volume_group(self, pod: Any) -> int | None:
        """Return the group to which the kubelet gives the pod's volumes; None: it leaves them as they are.

        With users' own accounts it may have the user's own claim alone: it would give all files of a shared volume to
        the group of this user.
        """
        if self._container_config.identity is None:
            # An administrator's function may say the number.
            return self.gid if isinstance(self.gid, int) else None
        own = self.storage_pvc_ensure and claims_of(pod) == {self.pvc_name}
        return int(self.gid) if own else None

    def _add_environments(self, pod: Any) -> None:
        person = self.person()
        volume = EnvironmentVolume(
            claim=self.haienv_claim,
            root=self.haienv_root.rstrip("/"),
            init_image=self.haienv_init_image or self._configured_image,
            pull_policy=self.image_pull_policy or "",
            makers=self.haienv_makers,
            reads=tuple(self._container_config.haienvs or ()) if self.haienv_readable == "own" else None,
        )
        add_environments(pod, volume, user=person.name, groups=sorted(person.groups), builds_base=person.admin)

    async def _make_create_pod_request(self, pod: Any, request_timeout: float) -> bool:
        """Create the pod, instead of KubeSpawner's method; returns whether it was made, False: try again.

        A refusal is reported in words, not as an exception with HTTP headers. The pod is not logged, because its
        environment holds the server's token.
        """
        name = pod.metadata.name
        self.log.info("Attempting to create pod %s", name)
        try:
            async with asyncio.timeout(request_timeout):
                await self.api.create_namespaced_pod(self.namespace, pod)
        except TimeoutError:
            return False
        except ApiException as error:
            if error.status == HTTPStatus.CONFLICT:
                self.log.info("Pod %s is there already: it is ended first", name)
                await self.stop(True)
                return False
            self.log.warning("Pod %s was not taken: %s", name, words_of(error))
            raise spawn_exception(refusal_of(error, "pod")) from None
        return True

    async def _make_create_pvc_request(self, pvc: Any, request_timeout: float) -> bool:
        """Create the claim as KubeSpawner does; a refusal is reported in words."""
        try:
            return bool(await super()._make_create_pvc_request(pvc, request_timeout))
        except ApiException as error:
            self.log.warning("Claim %s was not taken: %s", pvc.metadata.name, words_of(error))
            raise spawn_exception(refusal_of(error, "claim")) from None
