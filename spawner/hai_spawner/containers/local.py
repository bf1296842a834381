"""JupyterLab servers as plain processes of this machine."""

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

from jupyterhub.spawner import SimpleLocalProcessSpawner
from traitlets import Integer, List, Unicode, default

import hai_client
from hai_client.rank.identity import Account, NoAccount, find_account
from hai_spawner.containers.menu import Refusal, Why
from hai_spawner.containers.mixin import HaiSpawnerMixin
from hai_spawner.containers.naming import file_name
from hai_spawner.containers.process import before_exec, fingerprint
from hai_spawner.sizes.capacity import Room
from hai_spawner.sizes.catalogue import Size

#: Defaults of Lab's own settings (labconfig/), which no argument can set: it would ask about news.
JUPYTER_CONFIG: Final = Path(__file__).parents[1] / "jupyter"
#: Seconds between two progress messages while a server starts.
_STILL_STARTING_S: Final = 3.0
#: Cores, memory and processes are shared by all servers of the machine: none of them is ever used up.
_PLENTY: Final = Decimal("Infinity")


class HaiLocalSpawner(HaiSpawnerMixin, SimpleLocalProcessSpawner):
    """A JupyterLab of the user's own, as a process under the Hub's account, with its home in the state folder.

    Unless `unix_users` is set, all servers run as the same system user: that is for one machine whose users trust each
    other. Cores and memory of a size are told to the server and not enforced; devices are, by `CUDA_VISIBLE_DEVICES`.
    """

    # The base class has no types.
    pid: int
    proc: Any
    popen_kwargs: dict[str, Any]

    home_root = Unicode("", config=True, help="Folder above the users' home folders. Must be set.")
    unix_users = Unicode(
        "",
        config=True,
        help="The Unix account that a user's server runs as, at home there; `{username}` for the one of the user's own "
        "name; empty: the Hub's own account. The Hub needs to be root then, or to have its capabilities.",
    )
    log_root = Unicode("", config=True, help="Folder for the servers' logs; empty: into the Hub's log.")
    gpus = List(
        Integer(min=0),
        config=True,
        help="Indices of the GPUs that servers may have, one server a GPU; keep them from the scheduler's nodes.",
    )

    _started = 0.0
    #: What tells a process that another Hub has started from a later one with its number; None: it is our child.
    _fingerprint: str | None = None

    @default("cmd")
    def _default_cmd(self) -> list[str]:
        # Neither PATH nor a script's first line decides which Python it is, nor a file at home which module.
        return [sys.executable, "-P", "-m", "jupyterhub.singleuser"]

    @default("args")
    def _default_args(self) -> list[str]:
        return ["--allow-root"] if os.geteuid() == 0 and not self.unix_users else []

    @default("http_timeout")
    def _default_http_timeout(self) -> int:
        return 90

    @default("start_timeout")
    def _default_start_timeout(self) -> int:
        return 120

    @default("interrupt_timeout")
    def _default_interrupt_timeout(self) -> int:
        return 8

    @default("term_timeout")
    def _default_term_timeout(self) -> int:
        return 4

    @default("env_keep")
    def _default_env_keep(self) -> list[str]:
        return ["LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ"]

    @default("home_dir")
    def _default_home(self) -> str:
        account = self.account()
        if account is not None:
            return account.home
        if not self.home_root:
            message = "HaiLocalSpawner.home_root is empty: set it to the folder for the users' home folders"
            raise ValueError(message)
        return str(Path(self.home_root) / file_name(self.user.name))

    def account(self) -> Account | None:
        """The Unix account that the server runs as; None: the Hub's own. Raises Refusal."""
        if not self.unix_users:
            return None
        try:
            return find_account(self.unix_users, self.user.name)
        except NoAccount as error:
            raise Refusal(Why.FORBIDDEN, f"A server cannot be started: {error}.") from None

    def prepare_home(self) -> Path:
        """The home folder, made here, where an error can be told. That of an account is not the Hub's to make.

        Raises:
            Refusal: The account has none.
            OSError: It cannot be made.
        """
        home = Path(self.home_dir)
        if not self.unix_users:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not home.is_dir():
            message = f"The home folder {home} of your Unix account does not exist: an administrator has to make it."
            raise Refusal(Why.FORBIDDEN, message)
        return home

    async def decide(self) -> None:
        """See that there is an account to run as and a home, then as everywhere. Raises Refusal."""
        if self.unix_users:
            self.prepare_home()
        await super().decide()

    async def rooms(self) -> Sequence[Room]:
        """This machine as one room: only devices are ever used up."""
        taken = self._taken()
        free = Decimal(sum(index not in taken for index in self.gpus))
        plenty = dict.fromkeys(("cpu", "memory", "pods"), _PLENTY)
        devices = {size.resource for size in self.known_sizes().values() if size.resource is not None}
        total = plenty | dict.fromkeys(devices, Decimal(len(self.gpus)))
        return [Room(node="this machine", total=total, free=plenty | dict.fromkeys(devices, free))]

    def devices_for(self, size: Size | None) -> tuple[int, ...]:
        """The first free GPUs."""
        taken = self._taken()
        return tuple(index for index in self.gpus if index not in taken)[: size.count if size else 0]

    def _taken(self) -> set[int]:
        others = self.ledger.others(self.user.name, self.name)
        return {index for grant in others for index in grant.devices}

    def get_env(self) -> dict[str, str]:
        """The server's whole environment. Nothing is inherited but `env_keep`."""
        env: dict[str, str] = super().get_env()
        own_bin = str(Path(sys.executable).parent)
        path = env.get("PATH") or os.environ.get("PATH", os.defpath)
        # Slurm's commands over HAI come last: where there is a real Slurm, they are that one's.
        slurm = str(Path(str(hai_client.__file__)).parent / "shims")
        others = (part for part in path.split(os.pathsep) if part not in (own_bin, slurm))
        env["PATH"] = os.pathsep.join([own_bin, *others, slurm])
        config = env.get("JUPYTER_CONFIG_PATH")
        env["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (str(JUPYTER_CONFIG), config)))
        if self._size is not None:
            grant = self.ledger.get(self.user.name, self.name)
            env.setdefault("CUDA_VISIBLE_DEVICES", ",".join(map(str, grant.devices if grant else ())))
        return env

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        """Who the user is and where he lives."""
        account = self.account()
        if account is not None:
            who = account.name
            return env | {"USER": who, "LOGNAME": who, "HOME": self.home_dir, "SHELL": account.shell}
        shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
        return env | {"USER": self.user.name, "LOGNAME": self.user.name, "HOME": self.home_dir, "SHELL": shell}

    def make_preexec_fn(self, _name: str) -> Callable[[], None]:
        """The home folder is looked for here, where an error can be told; the rest happens in the new process."""
        return before_exec(self.prepare_home(), self.account())

    async def start(self) -> tuple[str, int]:
        """Start the server; its output goes to a log of its own."""
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
        """What finds the process again after a restart of the Hub: its number and its fingerprint."""
        state: dict[str, Any] = super().get_state()
        if self.pid and (print_ := fingerprint(self.pid)):
            state["fingerprint"] = print_
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Find the process again, unless its number belongs to somebody else by now."""
        super().load_state(state)
        self._fingerprint = state.get("fingerprint")
        self._forget_a_stranger()

    async def poll(self) -> int | None:
        """Whether it runs (None), or its status; 0 for one that another Hub had started."""
        if self.proc is None:
            self._forget_a_stranger()
        status: int | None = await super().poll()
        return status

    def _forget_a_stranger(self) -> None:
        if self.pid and self._fingerprint is not None and fingerprint(self.pid) != self._fingerprint:
            self.pid = 0

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """What the page shows while the server starts."""
        for event in self.first_words():
            yield event
        yield {"progress": 10, "message": f"Home folder of {self.user.name} is ready"}
        yield {"progress": 30, "message": "JupyterLab is starting"}
        shown = 30
        while True:
            await asyncio.sleep(_STILL_STARTING_S)
            # The Hub asks the server's address alone until it gives up: it would not notice.
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
