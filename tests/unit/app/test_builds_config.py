"""The settings of builds."""

from __future__ import annotations

import pytest

from hai_scheduler.app.builds_config import builder_of
from hai_scheduler.core.workspace.builds import BuildSettings


def test_an_account_is_a_name_on_one_machine_and_a_number_on_kubernetes() -> None:
    def made(account: str, image: str = "", *, unix_users: bool = False, kubernetes: bool = False) -> BuildSettings:
        return builder_of(account, image, "jupyter", unix_users=unix_users, kubernetes=kubernetes)

    assert made("", "") == BuildSettings()
    assert made("hai-build", unix_users=True) == BuildSettings(account="hai-build")
    assert made("1001", "quay.io/x/lab:1", kubernetes=True) == BuildSettings(account="1001", image="quay.io/x/lab:1")


@pytest.mark.parametrize(
    ("account", "image", "where", "said"),
    [
        ("0", "", {"kubernetes": True}, "but not 0"),
        ("hai-build", "", {"kubernetes": True}, "the number of a user"),
        ("root", "", {"unix_users": True}, "but not root's"),
        ("{username}", "", {"unix_users": True}, "the name of a Unix account"),
        ("hai-build", "", {}, "all tasks run as one account"),
        ("", "lab:1", {}, "it is for Kubernetes"),
    ],
)
def test_what_cannot_be_is_refused(account: str, image: str, where: dict[str, bool], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        builder_of(account, image, "jupyter", **{"unix_users": False, "kubernetes": False, **where})
