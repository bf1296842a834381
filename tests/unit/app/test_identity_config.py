"""The settings of who users' processes are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from hai_scheduler.adapters.identities.settings import IdentitySettings
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.app.identity_config import IdentityConfig

CLUSTER = ClusterSettings(namespace="runs", api_url="http://hai:8090/api/v1", run_as_user=5000, haienv_makers=60100)


def settings(kubernetes: ClusterSettings | None = CLUSTER, **given: Any) -> IdentitySettings:
    return IdentityConfig(config=Config({"IdentityConfig": given})).frozen(kubernetes)


def test_by_default_all_are_one_account_whose_numbers_no_user_may_have() -> None:
    found = settings()
    assert (found.source, found.gid, found.rules.least_uid) == ("fixed", 100, 1000)
    assert found.rules.own_uids == {os.geteuid(), 5000}
    assert found.rules.own_gids == {60100}
    assert settings(None) == IdentitySettings()


def test_files_are_named_by_their_places() -> None:
    found = settings(source="file", passwd_file="/etc/hai/accounts/passwd", group_file="/etc/hai/accounts/group")
    assert (found.passwd, found.group) == (Path("/etc/hai/accounts/passwd"), Path("/etc/hai/accounts/group"))


@pytest.mark.parametrize(
    ("kubernetes", "given", "words"),
    [
        (None, {"source": "claims"}, "IdentityConfig.source: is 'claims': it is for Kubernetes"),
        (CLUSTER, {"source": "file"}, "IdentityConfig.passwd_file: is '': source 'file' needs a file"),
        (CLUSTER, {"passwd_file": "/p"}, "IdentityConfig.passwd_file: is '/p'"),
        (CLUSTER, {"group_file": "/g"}, "IdentityConfig.group_file: is '/g'"),
        (CLUSTER, {"source": "file", "passwd_file": "p"}, "IdentityConfig.passwd_file: is 'p': write an absolute path"),
        (CLUSTER, {"least_uid": 0}, "IdentityConfig.least_uid: is 0: write a number from 1"),
    ],
)
def test_a_wrong_setting_is_told_with_its_value_and_the_remedy(
    kubernetes: ClusterSettings | None, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=r"^IdentityConfig") as caught:
        settings(kubernetes, **given)
    assert words in str(caught.value)
