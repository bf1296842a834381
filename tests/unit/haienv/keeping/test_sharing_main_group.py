"""Who may read an environment after `share`: also those who are in the main group of its owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.keeping.sharing import share
from haienv.store.layout import EnvFolder
from haienv.store.names import EnvName, Owner

READ = 0o5


def made(root: Path, level: str, mode: int) -> EnvFolder:
    env = EnvFolder(root, EnvName(Owner(level, "ann"), "vision"))
    env.folder.mkdir(parents=True)
    env.folder.chmod(mode)
    return env


def rights(env: EnvFolder) -> tuple[int, int]:
    """What the group of the folder may do, and all others."""
    mode = env.folder.stat().st_mode
    return mode >> 3 & 7, mode & 7


def test_all_are_also_those_in_the_owners_group(tmp_path: Path) -> None:
    env = made(tmp_path, "users", 0o700)
    shared = share(env, groups=[], users=[], everyone=True)
    assert rights(env) == (READ, READ)
    assert (shared.everyone, shared.groups) == (True, ())
    share(env, groups=[], users=[], everyone=True, take=True)
    assert rights(env) == (0, 0)


@pytest.mark.parametrize("take", [False, True])
def test_a_groups_own_environment_stays_the_groups(tmp_path: Path, take: bool) -> None:
    env = made(tmp_path, "groups", 0o750)
    share(env, groups=[], users=[], everyone=True, take=take)
    assert rights(env) == (READ, 0 if take else READ)
