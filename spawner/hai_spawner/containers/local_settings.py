"""The settings of servers that are processes of the Hub's machine: their defaults, accounts and home folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from jupyterhub.spawner import SimpleLocalProcessSpawner
from traitlets import Integer, List, Unicode, default

from hai_client.linux.identity import Account, NoAccount, find_account
from hai_client.linux.rights import make_folder
from hai_spawner.containers.menu import Refusal, Why
from hai_spawner.containers.naming import file_name


class LocalSpawnerSettings(SimpleLocalProcessSpawner):
    """What an administrator sets for servers on the Hub's machine, and the account and home folder that follow."""

    # The base class has no types.
    pid: int
    proc: Any
    popen_kwargs: dict[str, Any]

    home_root = Unicode("", config=True, help="Folder above the users' home folders. Must be set.")
    unix_users = Unicode(
        "",
        config=True,
        help="Name of the Unix account that a user's server runs as, in the home folder of that account; `{username}` "
        "stands for the user's name; empty: the Hub's own account. If set, the Hub needs to be root, or to have "
        "root's capabilities.",
    )
    log_root = Unicode("", config=True, help="Folder for the servers' logs; empty: they write to the Hub's log.")
    gpus = List(
        Integer(min=0),
        config=True,
        help="Indices of the GPUs for servers, one server for each GPU. The scheduler's nodes must not have them.",
    )

    @default("cmd")
    def _default_cmd(self) -> list[str]:
        # The same Python as the Hub's, whatever PATH says; -P: no module is imported from the home folder.
        return [sys.executable, "-P", "-m", "hai_spawner.containers.singleuser"]

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
            raise ValueError("HaiLocalSpawner.home_root is empty: set it to the folder for the users' home folders")
        return str(Path(self.home_root) / file_name(self.user.name))

    def account(self) -> Account | None:
        """Return the Unix account that the server runs as; None: the Hub's own. Raises Refusal if there is none."""
        if not self.unix_users:
            return None
        try:
            return find_account(self.unix_users, self.user.name)
        except NoAccount as error:
            raise Refusal(Why.FORBIDDEN, f"A server cannot be started: {error}.") from None

    def prepare_home(self) -> Path:
        """Return the home folder. It is made if needed, but never for a Unix account: an administrator does that.

        Raises:
            Refusal: The home folder of the account does not exist.
            OSError: The folder cannot be made.
        """
        home = Path(self.home_dir)
        if not self.unix_users:
            make_folder(home, 0o700)
        elif not home.is_dir():
            raise Refusal(
                Why.FORBIDDEN,
                f"The home folder {home} of your Unix account does not exist: an administrator has to make it.",
            )
        return home
