"""The settings of who users' processes in pods are, checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from traitlets import Enum, Int, Unicode
from traitlets.config import Configurable

from hai_scheduler.adapters.identities.settings import IdentitySettings, Source
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.workspace.identity import MAX_ID, IdentityRules


class IdentityConfig(Configurable):
    """Who the processes of users are, on Kubernetes: tasks, development containers, spot containers and builds."""

    source = Enum(
        ["fixed", "file", "claims"],
        "fixed",
        help="Where the numbers of users come from. `fixed`: all processes have the one account of "
        "`KubernetesSettings.run_as_user`. `file`: the files of `passwd_file` and `group_file`. `claims`: what each "
        "user's login tells, as the Hub has written it (`custom:hai:identities`).",
    ).tag(config=True)
    passwd_file = Unicode(
        "",
        help="With `file`: accounts as `getent passwd` prints them, by the names of the Hub's users. The file is read "
        "again when it has changed.",
    ).tag(config=True)
    group_file = Unicode(
        "", help="With `file`: groups as `getent group` prints them; empty: nobody is in more groups than the first."
    ).tag(config=True)
    least_uid = Int(
        1000, help="The least number that a user may have: below it are accounts of the system. At least 1."
    ).tag(config=True)

    def frozen(self, kubernetes: ClusterSettings | None) -> IdentitySettings:
        """Return the checked settings.

        Args:
            kubernetes: The settings of the cluster; None: ranks are processes of this machine.

        Raises:
            ValueError: A setting is wrong; the message names it, its value and the remedy.
        """
        if kubernetes is None:
            if self.source != "fixed":
                raise self._wrong("source", "it is for Kubernetes; leave it out, or start with --unix-users")
            return IdentitySettings()
        if (self.source == "file") is not bool(self.passwd_file):
            raise self._wrong("passwd_file", "source 'file' needs a file of accounts, and no other one reads it")
        if self.group_file and not self.passwd_file:
            raise self._wrong("group_file", "name the file of accounts (passwd_file) too, or neither")
        for name in ("passwd_file", "group_file"):
            if getattr(self, name) and not Path(getattr(self, name)).is_absolute():
                raise self._wrong(name, "write an absolute path")
        if not 1 <= self.least_uid <= MAX_ID:
            raise self._wrong("least_uid", f"write a number from 1 to {MAX_ID}")
        rules = IdentityRules(
            least_uid=self.least_uid,
            # Copies on nodes belong to the account of ranks, and what the service stores to its own.
            own_uids=frozenset({os.geteuid(), kubernetes.run_as_user}),
            own_gids=frozenset({kubernetes.haienv_makers}),
        )
        return IdentitySettings(
            source=cast("Source", self.source),
            rules=rules,
            passwd=Path(self.passwd_file) if self.passwd_file else None,
            group=Path(self.group_file) if self.group_file else None,
            gid=kubernetes.run_as_group,
        )

    def _wrong(self, name: str, remedy: str) -> ValueError:
        return ValueError(f"IdentityConfig.{name}: is {getattr(self, name)!r:.100}: {remedy}")
