"""Prepares the folders of a run's ranks, and starts their supervisors."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hai_client import pythons
from hai_client.archive import build
from hai_client.launching.starting import own_shims, starting
from hai_client.linux.identity import Account
from hai_client.linux.rights import make_folder
from hai_scheduler.adapters.local.environment import rank_environment
from hai_scheduler.adapters.local.folders import ADDRESS_FILE, RankFolder, RunFolder
from hai_scheduler.adapters.local.nodes import LocalNode
from hai_scheduler.adapters.local.runs import NEVER_STARTED, LocalRun
from hai_scheduler.adapters.local.settings import LocalSettings
from hai_scheduler.adapters.local.unix_identities import account_of
from hai_scheduler.adapters.shared.leaving import leaving_of
from hai_scheduler.adapters.shared.origins import check_origin
from hai_scheduler.adapters.shared.secret_file import secret_file
from hai_scheduler.core.model.node import Node
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary


class ClientArchive:
    """The archive of `hai_client`, made when it is first needed, in a folder that tasks may read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: Path | None = None

    def path(self) -> Path | None:
        """Return the file; None if it cannot be made, which is logged: tasks then run without it.

        Its name holds a digest of its contents, so a newer platform does not replace a file that running tasks read.
        """
        if self._made is None:
            try:
                self._made = self._make()
            except OSError as error:
                log.warning("hai_client cannot be given to tasks with a Python of their own: %s", error)
        return self._made

    def _make(self) -> Path:
        make_folder(self._folder)
        draft = self._folder / ".draft.pyz"
        build(draft)
        made = self._folder / f"hai-{hashlib.sha256(draft.read_bytes()).hexdigest()[:12]}.pyz"
        draft.chmod(0o644)
        draft.replace(made)
        return made


log = logging.getLogger(__name__)


class RankLauncher:
    """Starts the ranks of runs. Two calls, or two services at once, still start each rank once; it may block.

    Args:
        settings: The settings of the cluster.
        root: The folder of all runs, without links in its path.
    """

    def __init__(self, settings: LocalSettings, root: Path) -> None:
        self._settings = settings
        self._nodes = {local.node.name: local for local in settings.nodes}
        self._root = root
        accounts = settings.accounts
        self._client = ClientArchive(root / ".client" if accounts is None else accounts.client)

    def launch(self, run: LocalRun, launch: LaunchOrder) -> None:
        """Write the folders of all ranks and start their supervisors, each at most once. Raises Temporary, OSError."""
        _check_origin(run.folder, launch)
        with run.guard:
            if run.folder.killed:
                log.warning("run %s is not started: it was ended before", launch.run_id)
                return
            run.folder.make()
            port = run.folder.master_port()
            for number, name in enumerate(launch.nodes):
                self._launch_rank(run, launch, number, name, port)

    def _launch_rank(self, run: LocalRun, launch: LaunchOrder, number: int, name: str, port: int) -> None:
        folder = run.folder.rank(number)
        node = self._nodes.get(name)
        missing = _missing(launch, number, name, node)
        account = self._account(launch)
        if not folder.begun and not folder.prepared:
            known = node if missing is None else None
            spec = self._spec(launch, folder, known, name, port, account)
            folder.prepare(spec, launch.token.reveal(), secret_file(launch))
        rank = run.rank(number)
        if run.folder.killed:
            folder.mark_killed()
            folder.end_unstarted(NEVER_STARTED, None)
        elif missing is not None:
            folder.end_unstarted(None, missing)
        else:
            rank.ensure_started()

    def remove_own(self, run: LocalRun) -> None:
        """Remove the folders of the run's account, if its commands had one. Raises OSError."""
        if self._settings.accounts is not None:
            self._settings.accounts.remove(run.folder.path.relative_to(self._root))

    def _account(self, launch: LaunchOrder) -> Account | None:
        """Return the account of the run's commands; None: this process's user. Raises Temporary: it is not said."""
        if self._settings.accounts is None:
            return None
        if launch.identity is None:
            # Never this process's user: that may be root.
            raise Temporary(f"run {launch.run_id} is not started: it is not said as whom")
        return account_of(launch.identity)

    def _spec(
        self,
        launch: LaunchOrder,
        folder: RankFolder,
        node: LocalNode | None,
        name: str,
        port: int,
        account: Account | None,
    ) -> dict[str, Any]:
        if node is None:
            # The rank will not start; its spec is written all the same, so that its folder is complete.
            launch, node = replace(launch, gpus=()), LocalNode(node=Node(name=name))
        own = self._own_folder(launch, folder, account)
        env = rank_environment(
            launch,
            rank=folder.rank,
            node=node,
            runtime=own or folder.runtime,
            token=(own or folder.path) / "token",
            port=port,
            path_prefix=self._settings.path_prefix,
            api_url=self._settings.api_url,
            account=account,
        )
        for name_of_folder in ("HAI_CHECKPOINT_DIR", "HAI_LOG_DIR"):
            # With an account, the supervisor creates them when it starts the command.
            if env.get(name_of_folder) and account is None:
                # If one cannot be created, the job's own error names it best.
                with contextlib.suppress(OSError):
                    Path(env[name_of_folder]).mkdir(parents=True, exist_ok=True)
        if (launch.python is not None or pythons.chosen(env)) and (client := self._client.path()) is not None:
            env["PYTHONPATH"] = os.pathsep.join(filter(None, (env.get("PYTHONPATH"), str(client))))
        command = starting(own_shims(), launch.command, env, ranks_per_node=launch.ranks_per_node)
        return {
            "run_id": launch.run_id,
            "task_id": launch.task_id,
            "user": launch.user,
            "account": None if account is None else account.name,
            "runtime_dir": str(own or folder.runtime),
            "origin": None if launch.origin is None else str(launch.origin),
            "rank": folder.rank,
            "node": name,
            "command": command,
            "cwd": launch.cwd,
            "env": env,
            "has_secrets": bool(launch.secrets),
            **leaving_of(launch),
            "api_url": self._settings.api_url,
            "address_file": str(self._root / ADDRESS_FILE),
            "term_wait_s": self._settings.term_wait_s,
            "log_max_bytes": self._settings.log_max_bytes,
            "log_parts": self._settings.log_parts,
        }

    def _own_folder(self, launch: LaunchOrder, folder: RankFolder, account: Account | None) -> Path | None:
        """Create and return the folder of the job's account; None without an account. Raises OSError."""
        if account is None or self._settings.accounts is None:
            return None
        place = folder.path.relative_to(self._root)
        return self._settings.accounts.prepare(launch.folders_of or launch.user, account, place, launch.token.reveal())


def _check_origin(folder: RunFolder, launch: LaunchOrder) -> None:
    """Check that no run of another database has the id. Raises Temporary, OSError."""
    check_origin(launch, folder.facts().origin)


def _missing(launch: LaunchOrder, rank: int, name: str, node: LocalNode | None) -> str | None:
    """Return which node or GPU of the rank this machine does not have, in words; None if it has all of them."""
    if node is None:
        return f"{name} is not a node of this machine; see the list of nodes"
    last = max(launch.gpus[rank], default=-1) if launch.gpus else -1
    if last >= node.node.gpus:
        return f"{name} has {node.node.gpus} GPUs, so there is no GPU {last}; see the list of nodes"
    return None
