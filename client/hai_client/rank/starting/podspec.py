"""Reads the spec of a rank in a pod: the mounted Secret describes the run, the environment the rank."""
# ruff: noqa: PTH100, PTH118, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import os

from hai_client.rank.starting.environment import RankContext, Run, rank_environment
from hai_client.rank.starting.spec import BadSpec, Spec, read_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The home folder where neither the container nor the task names one.
HOME = "/tmp"  # noqa: S108  a folder that every image has and every user may write to
MESSAGE_FILE = "/dev/termination-log"
#: The grace period of a pod that sets none (Kubernetes).
GRACE_S = 30.0
LOG_RATE = 2 * 1024 * 1024
#: Variables on devices, with their values if unset: the container's values win over the task's.
DEVICES = {"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}


class PodSpec:
    """One rank in a pod.

    Args:
        secret: The folder of `spec.json` and `token`.
        run_dir: Where the rank may write.
        environ: The container's environment.

    Raises:
        BadSpec: The pod was made wrongly; the message names the field or the variable.
        OSError: `spec.json` cannot be read.
    """

    def __init__(self, secret: str, run_dir: str, environ: Mapping[str, str]) -> None:
        data = read_spec(secret)
        self._environ = environ
        self.rank = _number(environ, "HAI_RANK", None)
        self.gpus = _number(environ, "HAI_GPUS", 0)
        #: Between SIGTERM and the kubelet's SIGKILL, seconds.
        self.grace_s = float(_number(environ, "HAI_TERMINATION_GRACE", int(GRACE_S)))
        self.address = environ.get("HAI_POD_IP") or "127.0.0.1"
        self.spec = Spec(run_dir, {**data, "rank": self.rank})
        self.spec.token_file = os.path.join(secret, "token")
        log_dir = environ.get("HAI_LOG_DIR")
        if log_dir:
            self.spec.log_dir = log_dir
            # The service reads the log there, as another user.
            self.spec.log_mode = 0o644
        try:
            self.nodes = [str(name) for name in data["nodes"]]
            self._user = str(data.get("user") or self.spec.env.get("USER") or "")
            self._task_id = int(data["task_id"])
            self._master_port = int(data["master_port"])
            self._group = str(data.get("group") or "training")
            #: How often the command runs on this node; None: once, without a launcher.
            self.ranks_per_node = None if data.get("ranks_per_node") is None else int(data["ranks_per_node"])
            self._path_first = [str(folder) for folder in data.get("path_prefix") or ()]
            #: Whether the log is sent to the service, and how fast at most, bytes a second.
            self.upload_log = not log_dir and bool(data.get("upload_log", True))
            self.log_rate = float(data.get("log_rate", LOG_RATE))
            #: How much memory the rank must be able to lock for the RDMA of its fabric, bytes; 0: it has none.
            self.memlock_bytes = int(data.get("memlock_bytes", 0))
        except KeyError as error:
            raise BadSpec(f"spec.json: field {error.args[0]} is missing") from None
        except (TypeError, ValueError) as error:
            raise BadSpec(f"spec.json: {error}") from None
        if not 0 <= self.rank < len(self.nodes):
            raise BadSpec(f"HAI_RANK is {self.rank}; the run has ranks 0 to {len(self.nodes) - 1}")

    @property
    def node(self) -> str:
        """The name of the rank's node."""
        return self._environ.get("HAI_NODE_NAME") or self.nodes[self.rank]

    @property
    def shims(self) -> str:
        """The folder for the programs that start processes of the rank, and for Slurm's commands."""
        return os.path.join(self.spec.folder, "shims")

    def environment(self, addresses: Sequence[str]) -> dict[str, str]:
        """Return the command's variables: the container's own, the run's and the rank's.

        Args:
            addresses: Addresses of all ranks, in rank order.
        """
        given = {name: value for name, value in self._environ.items() if not name.startswith("HAI_")}
        given.update(self.spec.env)
        run = Run(
            run_id=self.spec.run_id,
            task_id=self._task_id,
            user=self._user,
            nodes=self.nodes,
            profile=self.spec.profile,
            api_url=self.spec.api_url,
            addresses=addresses,
            master_port=self._master_port,
            cwd=self.spec.cwd,
            group=self._group,
            ranks_per_node=self.ranks_per_node,
        )
        context = RankContext(
            rank=self.rank,
            node=self.node,
            gpus=self.gpus,
            runtime_dir=os.path.join(self.spec.folder, "runtime"),
            token_file=self.spec.token_file,
        )
        env = rank_environment(given, run, context, home=HOME, path_first=self._path_first, slurm=self.shims)
        for name, none in DEVICES.items():
            if name in self._environ:
                env[name] = self._environ[name]
            elif not self.gpus:
                env[name] = none
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (env.get("PYTHONPATH"), archive())))
        return env


def archive() -> str:
    """Return the path that makes `hai_client` importable: this zip application, or the folder of the package."""
    package = os.path.abspath(__file__)[: -len("/rank/starting/podspec.py")]
    return os.path.dirname(package)


def _number(environ: Mapping[str, str], name: str, default: int | None) -> int:
    text = environ.get(name) or ("" if default is None else str(default))
    try:
        return int(text)
    except ValueError:
        raise BadSpec(f"the pod's variable {name} is {text!r}; it must be a whole number") from None
