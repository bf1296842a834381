"""Start JupyterLab servers as processes on this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from hai_client.launching.starting import slurm_commands
from hai_client.linux.processes import fingerprint
from hai_spawner.containers.haienv_paths import make_own_folder
from hai_spawner.containers.local_settings import LocalSpawnerSettings
from hai_spawner.containers.mixin import HaiSpawnerMixin
from hai_spawner.containers.naming import file_name
from hai_spawner.containers.process import before_exec
from hai_spawner.sizes.capacity import NodeCapacity
from hai_spawner.sizes.catalogue import Size

#: Folder with defaults of JupyterLab's own settings (labconfig/) that have no argument, such as the one about news.
JUPYTER_CONFIG: Final = Path(__file__).parents[1] / "jupyter"
#: Seconds between two progress messages while a server starts.
_STILL_STARTING_S: Final = 3.0
#: Free cores, memory and processes: servers share them, so they never count as used up.
_PLENTY: Final = Decimal("Infinity")


class HaiLocalSpawner(HaiSpawnerMixin, LocalSpawnerSettings):
    """A user's JupyterLab server as a process of the Hub's machine, with its home in the state folder.

    Unless `unix_users` is set, all servers run as the Hub's account: that is for users who trust each other. Cores and
    memory of a size are only told to the server; its GPUs are set by `CUDA_VISIBLE_DEVICES`.
    """

    _started = 0.0
    #: Fingerprint of a server that an earlier Hub has started; None: the process is a child of this Hub.
    _fingerprint: str | None = None

    async def decide(self) -> None:
        """Check that account and home folder exist, then decide as every spawner. Raises Refusal."""
        if self.unix_users:
            self.prepare_home()
        await super().decide()
        account = self.account()
        if account is not None and self.haienv_root:
            try:
                make_own_folder(self.haienv_root, self.user.name, account)
            except OSError as error:
                self.log.warning("%s has no folder for environments: %s", self.user.name, error)

    async def rooms(self) -> Sequence[NodeCapacity]:
        """Return this machine as one room, in which only GPUs can be used up."""
        taken = self._taken()
        free = Decimal(sum(index not in taken for index in self.gpus))
        plenty = dict.fromkeys(("cpu", "memory", "pods"), _PLENTY)
        devices = {size.resource for size in self.known_sizes().values() if size.resource is not None}
        total = plenty | dict.fromkeys(devices, Decimal(len(self.gpus)))
        return [NodeCapacity(node="this machine", total=total, free=plenty | dict.fromkeys(devices, free))]

    def devices_for(self, size: Size | None) -> tuple[int, ...]:
        """Return the indices of the first free GPUs."""
        taken = self._taken()
        return tuple(index for index in self.gpus if index not in taken)[: size.count if size else 0]

    def _taken(self) -> set[int]:
        others = self.allocations.others(self.user.name, self.name)
        return {index for grant in others for index in grant.devices}

    def get_env(self) -> dict[str, str]:
        """Return the server's whole environment. Of the Hub's environment it has only `env_keep` and PATH."""
        env: dict[str, str] = super().get_env()
        own_bin = str(Path(sys.executable).parent)
        path = env.get("PATH") or os.environ.get("PATH", os.defpath)
        # HAI's versions of Slurm's commands come last on PATH: a real Slurm comes first.
        slurm = slurm_commands()
        others = (part for part in path.split(os.pathsep) if part not in (own_bin, slurm))
        env["PATH"] = os.pathsep.join(filter(None, (own_bin, *others, slurm)))
        config = env.get("JUPYTER_CONFIG_PATH")
        env["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (str(JUPYTER_CONFIG), config)))
        if self._size is not None:
            grant = self.allocations.get(self.user.name, self.name)
            env.setdefault("CUDA_VISIBLE_DEVICES", ",".join(map(str, grant.devices if grant else ())))
            # Else CUDA counts the fastest GPUs first, and tasks count them by their place.
            env.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        return env

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        """Return the environment with the user's name, home folder and shell."""
        account = self.account()
        if account is not None:
            who = account.name
            return env | {"USER": who, "LOGNAME": who, "HOME": self.home_dir, "SHELL": account.shell}
        shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
        return env | {"USER": self.user.name, "LOGNAME": self.user.name, "HOME": self.home_dir, "SHELL": shell}

    def make_preexec_fn(self, _name: str) -> Callable[[], None]:
        """Return a `preexec_fn`. The home folder is checked before, in the Hub, where an error can be reported."""
        return before_exec(self.prepare_home(), self.account())

    async def start(self) -> tuple[str, int]:
        """Start the server with a log of its own; returns its address and port."""
        self._started = time.monotonic()
        self._fingerprint = None
        self.popen_kwargs = {**self.popen_kwargs, "stdin": subprocess.DEVNULL}
        with ExitStack() as opened:
            if self.log_root:
                path = Path(self.log_root) / f"lab-{file_name(self.user.name)}.log"
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                opened.callback(os.close, descriptor)
                self.popen_kwargs |= {"stdout": descriptor, "stderr": descriptor}
            address: tuple[str, int] = await super().start()
        return address

    def get_state(self) -> dict[str, Any]:
        """Return what identifies the process after a restart of the Hub: pid and fingerprint."""
        state: dict[str, Any] = super().get_state()
        if self.pid and (print_ := fingerprint(self.pid)):
            state["fingerprint"] = print_
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore the pid, unless it belongs to another process by now."""
        super().load_state(state)
        self._fingerprint = state.get("fingerprint")
        self._forget_a_stranger()

    async def poll(self) -> int | None:
        """Return None while the server runs, else its exit status; 0 for a server that an earlier Hub had started."""
        if self.proc is None:
            self._forget_a_stranger()
        status: int | None = await super().poll()
        return status

    def _forget_a_stranger(self) -> None:
        if self.pid and self._fingerprint is not None and fingerprint(self.pid) != self._fingerprint:
            self.pid = 0

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the messages that the page shows while the server starts."""
        for event in self.first_words():
            yield event
        yield {"progress": 10, "message": f"Home folder of {self.user.name} is ready"}
        yield {"progress": 30, "message": "JupyterLab is starting"}
        shown = 30
        while True:
            await asyncio.sleep(_STILL_STARTING_S)
            # While it waits for the server's address, the Hub does not notice that the process has ended.
            if self.proc is not None and (status := self.proc.poll()) is not None:
                yield {"progress": shown, "message": self._ended(status)}
                return
            shown = min(90, shown + 10)
            waited = time.monotonic() - self._started
            yield {"progress": shown, "message": f"JupyterLab is starting ({waited:.0f} s)"}

    def _ended(self, status: int) -> str:
        log = f"log lab-{file_name(self.user.name)}.log" if self.log_root else "Hub's log"
        return (
            f"JupyterLab has ended with status {status} and will not come up: stop the server. "
            f"An administrator finds the reason in the {log}"
        )
