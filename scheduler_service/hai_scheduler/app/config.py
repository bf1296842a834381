"""Configuration of the service: traitlets, turned into frozen settings. Nothing below imports traitlets.

`python -m hai_scheduler --help-all` lists everything. Secrets come from the environment or from files.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, cast
from urllib.parse import urlparse

from traitlets import Dict, Enum, Float, Int, TraitError, Unicode
from traitlets.config import Application, Configurable

from hai_client.durations import parse_duration
from hai_client.errors import Invalid
from hai_client.secret_files import address_of, secret_of
from hai_scheduler import __version__
from hai_scheduler.adapters.identities.settings import IdentitySettings
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.local.accounts import users_folder
from hai_scheduler.adapters.messaging.settings import MessagingSettings
from hai_scheduler.api.server.kinds import LimitSettings
from hai_scheduler.app.builds_config import builder_of
from hai_scheduler.app.identity_config import IdentityConfig
from hai_scheduler.app.kubernetes_config import KubernetesSettings
from hai_scheduler.app.limits_config import ApiLimits
from hai_scheduler.app.metrics_config import MetricsLabels
from hai_scheduler.app.notify_config import NotificationSettings
from hai_scheduler.app.number_config import at_least, lease_of, starts_of
from hai_scheduler.core.model.policy import Policies, Policy, PolicyError
from hai_scheduler.ports.secret import Secret
from hai_scheduler.ports.snapshots import SnapshotLimits
from hai_scheduler.service.quota.default import ON_A_CLUSTER
from hai_scheduler.service.shared.policy_numbers import BY_NAME, NUMBERS, NumberKind, changed
from hai_scheduler.service.shared.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Characters of the secret that all replicas share, at least.
LEAST_SECRET: Final = 32


#: `loop` decides and acts on the cluster; `api` answers people, programs and ranks.
Role = Literal["loop", "api"]


class ConfigError(ValueError):
    """A setting is wrong; the message names it, its value and the remedy."""


def _traits() -> dict[str, Any]:
    """A trait for each policy number of `NUMBERS`."""
    kinds: dict[NumberKind, Callable[..., Any]] = {
        NumberKind.DURATION: Unicode,
        NumberKind.FLOAT: Float,
        NumberKind.INT: Int,
        NumberKind.WEIGHTS: Dict,
        NumberKind.CHOICE: Unicode,
    }
    return {
        number.name: kinds[number.kind](
            number.default, help=f"{number.rule}: {number.help}" if number.rule else number.help
        ).tag(config=True)
        for number in NUMBERS
    }


class SchedulingPolicy(Configurable):
    """The numbers that the scheduling rules leave to an admin. Lengths of time: `90s`, `15m`, `4h`."""

    # The namespace of a class body: the traits are there when traitlets looks for them.
    vars().update(_traits())
    groups = Dict(
        help="Other numbers for some node groups: by group, then by number, for example "
        '`{"training": {"slice": "1h"}}`.'
    ).tag(config=True)

    def numbers(self) -> tuple[Policies, frozenset[tuple[str | None, str]]]:
        """The policies, and the numbers in the configuration as (node group or None, name). Raises PolicyError."""
        default = self._default()
        groups = {group: self._of_group(default, group, numbers) for group, numbers in self.groups.items()}
        for_all = {(None, name) for name in self.config[type(self).__name__]}
        for_all &= {(None, name) for name in BY_NAME}
        for_groups = {(group, name) for group, numbers in self.groups.items() for name in numbers}
        return Policies(default=default, groups=MappingProxyType(groups)), frozenset({*for_all, *for_groups})

    def _default(self) -> Policy:
        try:
            return changed(Policy(), {name: getattr(self, name) for name in BY_NAME})
        except PolicyError as error:
            raise PolicyError(error.name, f"SchedulingPolicy.{error.name}: {error}") from None

    def _of_group(self, default: Policy, group: object, numbers: object) -> Policy:
        place = f"SchedulingPolicy.groups[{group!r}]"
        if not isinstance(group, str) or not group or not isinstance(numbers, dict):
            raise PolicyError(
                "groups", f'{place}: is {numbers!r:.60}: write for example {{"training": {{"slice": "1h"}}}}'
            )
        try:
            return changed(default, numbers)
        except PolicyError as error:
            raise PolicyError(error.name, f"{place}: {error}") from None


def _duration(text: str, name: str = "duration") -> timedelta:
    return timedelta(seconds=parse_duration(text, field=name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The checked settings of one process of the service."""

    #: Which of the two processes this is (docs/decisions/0017-the-loop-and-the-api-are-two-processes.md).
    role: Role
    state_dir: Path
    #: The address of the database; it may hold a password.
    db_url: str = field(repr=False)
    #: Address and port of the process of role `api`; the address that local ranks call follows from them.
    ip: str
    port: int
    #: Address and port at which the process of role `loop` answers health checks; port 0: any free port.
    health_ip: str
    health_port: int
    #: Path of the service under the Hub, with slashes at both ends.
    prefix: str
    nodes: int | None
    gpus_per_node: int | None
    nodes_file: Path | None
    service: ServiceSettings
    #: The limits of the REST interface for each client.
    limits: LimitSettings = field(default_factory=LimitSettings)
    #: The pattern for the names of the Unix accounts that tasks run as; empty: tasks run as the service's own account.
    unix_users: str = ""
    #: The folder of the environments of haienv, at the same path for the service and for ranks; None: there is none.
    haienv_root: Path | None = None
    #: The folder of the snapshots of code; None: none are stored.
    snapshots_root: Path | None = None
    #: On Kubernetes: the persistent volume claim that this folder is, from which ranks mount their snapshot.
    snapshots_claim: str = ""
    snapshot_limits: SnapshotLimits = field(default_factory=SnapshotLimits)
    #: The Kubernetes cluster on which ranks are pods; None: ranks are processes of this machine.
    kubernetes: ClusterSettings | None = None
    #: Who the processes of users in pods are.
    identities: IdentitySettings = field(default_factory=IdentitySettings)
    #: The address of the bus between replicas; None: this replica is the only one. It may hold a password.
    redis_url: Secret | None = None
    #: How many computations run at once in worker processes; 0: half of the cores.
    workers: int = 0
    #: The secret that signs run tokens and cookies; None: the one in the state folder.
    service_secret: Secret | None = None
    #: The keys that seal users' secrets, a line each, the newest first; None: the file in the state folder.
    secrets_keys: Secret | None = None
    #: What users are told over: mail, webhooks and sinks.
    messaging: MessagingSettings = field(default_factory=MessagingSettings)


class HaiScheduler(Application):
    """Reads the command line and the configuration file."""

    name = "hai-scheduler"
    version = __version__
    description = "The scheduler service of HAI. JupyterHub starts it; see docs/operations.md."
    #: traitlets reads it so.
    classes = [  # noqa: RUF012
        SchedulingPolicy, KubernetesSettings, IdentityConfig, ApiLimits, MetricsLabels, NotificationSettings,
    ]  # fmt: skip

    role = Enum(
        ["loop", "api"],
        None,
        allow_none=True,
        help="Which process this is, `loop` or `api`; must be given. `loop` schedules, starts and ends runs; `api` "
        "answers requests. A platform needs both.",
    ).tag(config=True)
    state_dir = Unicode("", help="Folder of the database, runs and logs. Must be given.").tag(config=True)
    db_url = Unicode(
        "",
        help="Address of the database, `postgresql://USER@HOST/NAME` or `sqlite:///FILE`; empty is SQLite in the state "
        "folder. The environment variable HAI_DB_URL wins over it: an address with a password belongs there, or into "
        "the file that HAI_DB_URL_FILE names. HAI_DB_PASSWORD_FILE names one with the password alone.",
    ).tag(config=True)
    redis_url = Unicode(
        "",
        help="Address of the Redis that wakes up replicas, `redis://HOST:6379/0` or `rediss://...` for TLS; needed by "
        "more than one replica. The environment variable HAI_REDIS_URL wins over it: an address with a password "
        "belongs there, or into the file that HAI_REDIS_URL_FILE names. HAI_REDIS_PASSWORD_FILE names one with the "
        "password alone.",
    ).tag(config=True)
    ip = Unicode("127.0.0.1", help="Address that the API listens on. Both roles must be told the same.").tag(
        config=True
    )
    port = Int(
        0,
        help="Port that the API listens on; 0 takes it from JUPYTERHUB_SERVICE_URL. Both roles must be told the same: "
        "the loop tells ranks of this machine which address to call.",
    ).tag(config=True)
    health_ip = Unicode("127.0.0.1", help="Address on which the loop answers health checks.").tag(config=True)
    health_port = Int(
        0, help="Port on which the loop answers `/health`, `/health/live` and `/health/ready`; 0 is any free one."
    ).tag(config=True)
    cluster = Enum(
        ["local", "kubernetes"],
        "local",
        help="Where ranks run: as processes of this machine, or as pods (see KubernetesSettings).",
    ).tag(config=True)
    nodes = Int(None, allow_none=True, help="How many nodes this machine is divided into.").tag(config=True)
    gpus_per_node = Int(None, allow_none=True, help="GPUs of each node of this machine.").tag(config=True)
    nodes_file = Unicode("", help="TOML file that describes the nodes, instead of `nodes` and `gpus_per_node`.").tag(
        config=True
    )
    unix_users = Unicode(
        "",
        help="On one machine: the Unix account that a user's tasks run as, `{username}` for the one of the user's own "
        "name; empty: the service's own. It needs root, or CAP_CHOWN, CAP_KILL, CAP_SETGID and CAP_SETUID.",
    ).tag(config=True)
    haienv_root = Unicode(
        "",
        help="Folder of the environments of haienv (HAIENV_ROOT), absolute. The service and all tasks must see it at "
        "this path: on Kubernetes, mount it into the service's pods; KubernetesSettings.haienv_claim shows it to tasks."
        " Empty: there are none. `hai up` sets it to `haienv` in its state folder or, with `--unix-users`, to one "
        "beside it.",
    ).tag(config=True)
    build_account = Unicode(
        "",
        help="The account that builds of base and group environments run as: with `unix_users` the name of a Unix "
        "account, on Kubernetes the number of a user; never root. Empty: that of the tasks of the user who asks.",
    ).tag(config=True)
    build_image = Unicode(
        "",
        help="On Kubernetes: the image of builds of environments, which must have `haienv` and uv, as the image of "
        "JupyterLab has. Empty: that of the user's other tasks.",
    ).tag(config=True)
    build_group = Unicode(
        "jupyter",
        help="The node group that builds of environments run in, if it has nodes for tasks; else they are tasks of the "
        "smallest size that there is.",
    ).tag(config=True)
    snapshots_root = Unicode(
        "",
        help="Folder of the snapshots of code (`hai submit --snapshot`), absolute. Empty is `snapshots` in the state "
        "folder or, with `unix_users`, beside it; on Kubernetes it is no snapshots. There both roles need the volume "
        "that `snapshots_claim` names at this path, writable.",
    ).tag(config=True)
    snapshots_claim = Unicode(
        "",
        help="On Kubernetes: the persistent volume claim, in the namespace of tasks, with the folder of snapshots; "
        "ranks mount their own snapshot of it, read-only.",
    ).tag(config=True)
    snapshot_files = Int(20_000, help="Files that one snapshot of code may have.").tag(config=True)
    snapshot_mib = Int(512, help="MiB that all files of one snapshot of code may have.").tag(config=True)
    snapshot_file_mib = Int(64, help="MiB that a single file in a snapshot of code may have.").tag(config=True)
    snapshot_files_per_user = Int(1_000_000, help="Files that a user's kept snapshots may have.").tag(config=True)
    snapshot_mib_per_user = Int(10_240, help="MiB that all kept snapshots of one user may take.").tag(config=True)
    config_file = Unicode("", help="Configuration file, Python or JSON.").tag(config=True)
    tick_every = Unicode("1s", help="Longest time between two looks at the cluster.").tag(config=True)
    lease_length = Unicode(
        "5s",
        help="How long a replica that has died stays leader. It must be longer than the database ever takes to answer.",
    ).tag(config=True)
    keep_ended = Unicode("720h", help="How long ended tasks and their logs are kept.").tag(config=True)
    workers = Int(
        0,
        min=0,
        help="How many forecasts, what-ifs, log searches and experiment files are computed at a time, in processes "
        "of lower priority than the service; 0 is half of the cores, at least one.",
    ).tag(config=True)
    tasks_per_user = Int(10_000, help="How many unfinished tasks a user may have.").tag(config=True)
    starts_at_once = Int(
        0,
        help="How many ranks are started at once; among waiting runs, those of the highest priority go first. 0 is one "
        "for each core of this machine and at least 4 or, on Kubernetes, KubernetesSettings.parallel.",
    ).tag(config=True)
    ended_per_user = Int(
        20_000, help="Ended tasks that are kept of each user; beyond it, the oldest are deleted early with their logs."
    ).tag(config=True)
    mib_per_user = Int(
        256,
        help="MiB that the descriptions of a user's tasks (command, variables, tags) may take. Ended tasks are "
        "deleted early to make room; a submission is refused if unfinished tasks alone would take more.",
    ).tag(config=True)
    recordings_per_user = Int(20, help="Recordings of each user's tasks that are kept.").tag(config=True)
    trace_mib_per_user = Int(1024, help="MiB of traces of each user that are kept.").tag(config=True)
    lines_per_task = Int(
        10_000, help="Lines of history that are kept of each task; beyond it, the oldest except the first are deleted."
    ).tag(config=True)
    default_quota = Unicode(
        "",
        help="Default quota on a new platform: a number is the nodes that each user may hold at NORMAL and at each "
        "level below, and none above; `0` is none at all; `all` is no limit at any level. Empty is `all` on one "
        f"machine and `{ON_A_CLUSTER}` on Kubernetes. It is written once, when the database is new; then use "
        "`hai admin quota`.",
    ).tag(config=True)

    #: A configuration file that cannot be read is an error: the defaults must not be used silently.
    raise_config_file_errors = True

    aliases = {  # noqa: RUF012  # traitlets reads it so
        "role": "HaiScheduler.role",
        "state-dir": "HaiScheduler.state_dir",
        "db-url": "HaiScheduler.db_url",
        "ip": "HaiScheduler.ip",
        "port": "HaiScheduler.port",
        "health-ip": "HaiScheduler.health_ip",
        "health-port": "HaiScheduler.health_port",
        "cluster": "HaiScheduler.cluster",
        "nodes": "HaiScheduler.nodes",
        "gpus-per-node": "HaiScheduler.gpus_per_node",
        "nodes-file": "HaiScheduler.nodes_file",
        "unix-users": "HaiScheduler.unix_users",
        "haienv-root": "HaiScheduler.haienv_root",
        "config": "HaiScheduler.config_file",
        "log-level": "Application.log_level",
        "min-run": "SchedulingPolicy.min_run",
        "slice": "SchedulingPolicy.slice",
    }

    def settings(self, argv: list[str]) -> Settings:
        """Parse and check the command line and the configuration file. Raises ConfigError."""
        try:
            self.initialize(argv)
            if self.config_file:
                self._load(Path(self.config_file))
                self.parse_command_line(argv)  # the command line wins over the file
            return self._settings()
        except (TraitError, ValueError, Invalid) as error:
            raise ConfigError(str(error)) from None

    def _load(self, file: Path) -> None:
        if not file.is_file():
            raise ConfigError(f"config: there is no file {file}")
        try:
            self.load_config_file(file.name, path=str(file.parent))
        except (TraitError, ConfigError):
            raise
        except Exception as error:  # noqa: BLE001  # the file is the admin's Python: anything may come out of it
            raise ConfigError(f"config: {file} cannot be used: {type(error).__name__}: {error}") from None

    def _accounts(self) -> str:
        if self.unix_users and self.cluster == "kubernetes":
            raise ConfigError(
                f"unix-users: is {self.unix_users!r}: it is for the processes of one machine; leave it out on "
                "Kubernetes, where a rank's user is that of its pod"
            )
        return self.unix_users

    def _haienv_root(self) -> Path | None:
        """The folder of the environments of haienv; None: there is none. Raises ConfigError."""
        if not self.haienv_root:
            return None
        root = Path(self.haienv_root)
        if not root.is_absolute() or ".." in root.parts:
            raise ConfigError(f"haienv-root: is {self.haienv_root!r}: write an absolute path without '..'")
        return root

    def _snapshots_root(self, state_dir: Path) -> Path | None:
        """The folder of the snapshots of code; None: none are stored. Raises ConfigError."""
        if not self.snapshots_root:
            if self.cluster == "kubernetes":
                return None
            return (users_folder(state_dir) if self.unix_users else state_dir) / "snapshots"
        root = Path(self.snapshots_root)
        if not root.is_absolute() or ".." in root.parts:
            raise ConfigError(
                f"HaiScheduler.snapshots_root is {self.snapshots_root!r}: write an absolute path without '..'"
            )
        if self.cluster == "kubernetes" and not self.snapshots_claim:
            raise ConfigError("HaiScheduler.snapshots_claim: is empty: name the volume claim of snapshots_root")
        return root

    def _settings(self) -> Settings:
        if self.role is None:
            raise ConfigError("role: is not given: start one process with --role loop and one with --role api")
        if not self.state_dir:
            raise ConfigError("state-dir: name the folder that holds the service's state: --state-dir DIR")
        state_dir = Path(self.state_dir).resolve()
        # `Auth` reads it later; if the file is missing, the service ends here with a clear message.
        secret_of("JUPYTERHUB_API_TOKEN", os.environ)
        unix_users = self._accounts()
        root = self._haienv_root()
        kubernetes = None
        if self.cluster == "kubernetes":
            kubernetes = KubernetesSettings(parent=self).frozen("" if root is None else str(root))
        return Settings(
            role=cast("Role", self.role),
            state_dir=state_dir,
            db_url=_address("HAI_DB", self.db_url) or f"sqlite+aiosqlite:///{state_dir / 'hai.sqlite'}",
            redis_url=_secret(_address("HAI_REDIS", self.redis_url)),
            service_secret=_service_secret(),
            secrets_keys=_secret(secret_of("HAI_SECRETS_KEYS", os.environ)),
            ip=self.ip,
            port=self.port or _hub_port(),
            health_ip=self.health_ip,
            health_port=self.health_port,
            prefix=os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "/services/hai/"),
            nodes=self.nodes,
            gpus_per_node=self.gpus_per_node,
            nodes_file=Path(self.nodes_file) if self.nodes_file else None,
            workers=self.workers,
            unix_users=unix_users,
            haienv_root=root,
            snapshots_root=self._snapshots_root(state_dir),
            snapshots_claim=self.snapshots_claim,
            snapshot_limits=SnapshotLimits(
                files=at_least(self, "snapshot_files", 1),
                files_per_user=at_least(self, "snapshot_files_per_user", 1),
                file_size=at_least(self, "snapshot_file_mib", 1) * 2**20,
                size=at_least(self, "snapshot_mib", 1) * 2**20,
                size_per_user=at_least(self, "snapshot_mib_per_user", 1) * 2**20,
            ),
            service=self._service(bool(unix_users), kubernetes),
            limits=ApiLimits(parent=self).frozen(),
            messaging=NotificationSettings(parent=self).frozen(),
            kubernetes=kubernetes,
            identities=IdentityConfig(parent=self).frozen(kubernetes),
        )

    def _service(self, unix_users: bool, kubernetes: ClusterSettings | None) -> ServiceSettings:
        policy, policy_written = SchedulingPolicy(parent=self).numbers()
        return ServiceSettings(
            policy=policy,
            policy_written=policy_written,
            tick_every=_duration(self.tick_every, "HaiScheduler.tick_every"),
            lease_length=lease_of(self.lease_length),
            keep_ended=_duration(self.keep_ended, "HaiScheduler.keep_ended"),
            tasks_per_user=self.tasks_per_user,
            starts_at_once=starts_of(self.starts_at_once, kubernetes),
            ended_per_user=at_least(self, "ended_per_user", 1),
            bytes_per_user=at_least(self, "mib_per_user", 2) * 1024 * 1024,
            recordings_per_user=at_least(self, "recordings_per_user", 1),
            trace_bytes_per_user=at_least(self, "trace_mib_per_user", 1) * 2**20,
            lines_per_task=at_least(self, "lines_per_task", 100),
            default_quota=self._default_quota(),
            builder=builder_of(
                self.build_account,
                self.build_image,
                self.build_group,
                unix_users=unix_users,
                kubernetes=kubernetes is not None,
            ),
            labels=MetricsLabels(parent=self).frozen(),
        )

    def _default_quota(self) -> int | None:
        """The nodes that each user may hold at NORMAL and at each level below; None is no limit at any level."""
        text = self.default_quota.strip() or ("all" if self.cluster == "local" else str(ON_A_CLUSTER))
        if text == "all":
            return None
        if not (text.isascii() and text.isdigit()):
            raise ConfigError(
                f"HaiScheduler.default_quota is {self.default_quota!r:.60}: write a number of nodes, such as 4, or all"
            )
        return int(text)


def _secret(text: str) -> Secret | None:
    return Secret(text) if text else None


def _address(prefix: str, written: str) -> str:
    """The address from the environment, else `written`, with the environment's password. Raises Invalid."""
    return address_of(f"{prefix}_URL", f"{prefix}_PASSWORD", os.environ, default=written)


def _service_secret() -> Secret | None:
    """The secret that all replicas share, from the environment. Raises ConfigError, without the secret in it."""
    secret = secret_of("HAI_SERVICE_SECRET", os.environ)
    if secret and len(secret) < LEAST_SECRET:
        raise ConfigError(
            f"HAI_SERVICE_SECRET: has {len(secret)} characters, and needs {LEAST_SECRET}: "
            "use a random one, for example of `openssl rand -hex 32`"
        )
    return _secret(secret)


def _hub_port() -> int:
    port = urlparse(os.environ.get("JUPYTERHUB_SERVICE_URL", "")).port
    if port is None:
        raise ConfigError("port: give --port, or let JupyterHub start the service with JUPYTERHUB_SERVICE_URL")
    return port
