"""Who may use an environment: rights that are given and taken, and file systems that know one group only."""

from __future__ import annotations

import errno
import grp
import os
import pwd
from pathlib import Path

import pytest

from haienv.keeping import sharing
from haienv.keeping.sharing import Sharing, share, shared_with
from haienv.shared import acl
from haienv.shared.acl import Access
from haienv.shared.errors import Missing, Wrong
from haienv.store.layout import EnvFolder
from unit.haienv.envs_kit import env_of, publish

GROUPS = [one.gr_name for one in grp.getgrall() if one.gr_gid not in (0, os.getgid())][:2]
USERS = [one.pw_name for one in pwd.getpwall() if one.pw_uid not in (0, os.getuid())][:2]
NOBODY = Sharing(everyone=False, groups=(), users=())


class Lists:
    """A file system with access lists; or one without, which refuses those that the mode cannot say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.known: dict[Path, Access] = {}
        self.error: OSError | None = None
        monkeypatch.setattr(acl, "read", self.read)
        monkeypatch.setattr(acl, "write", self.write)

    def read(self, folder: Path) -> Access:
        found = self.known.setdefault(folder, Access())
        return Access(found.owner, found.owning_group, found.other, dict(found.users), dict(found.groups))

    def write(self, folder: Path, access: Access) -> None:
        if self.error is not None and (access.users or access.groups or not isinstance(self.error, Unsupported)):
            raise self.error
        self.known[folder] = access


class Unsupported(OSError):
    """The file system has no lists."""


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> Lists:
    return Lists(monkeypatch)


@pytest.fixture
def env(tmp_path: Path, lists: Lists) -> EnvFolder:
    made = env_of(tmp_path)
    publish(made)
    return made


def give(env: EnvFolder, *, groups: list[str] | None = None, users: list[str] | None = None, everyone: bool = False,
         take: bool = False) -> Sharing:  # fmt: skip
    return share(env, groups=groups or [], users=users or [], everyone=everyone, take=take)


def test_at_first_it_is_its_owners_alone(env: EnvFolder) -> None:
    assert shared_with(env) == NOBODY


def test_groups_users_and_everybody_get_in_and_are_put_out_again(env: EnvFolder) -> None:
    assert give(env, groups=GROUPS, users=USERS[:1]) == Sharing(False, tuple(sorted(GROUPS)), tuple(USERS[:1]))
    assert give(env, users=USERS[1:], everyone=True).users == tuple(sorted(USERS))
    found = give(env, groups=GROUPS[:1], everyone=True, take=True)
    assert found == Sharing(False, tuple(GROUPS[1:]), tuple(sorted(USERS)))
    assert give(env, groups=GROUPS, users=USERS, take=True) == NOBODY


def test_nobody_who_gets_in_may_write(env: EnvFolder, lists: Lists) -> None:
    give(env, groups=GROUPS, users=USERS, everyone=True)
    access = lists.known[env.folder]
    assert {access.other, *access.groups.values(), *access.users.values()} == {acl.READ}
    assert not acl.READ & 2


def test_to_take_what_nobody_has_changes_nothing(env: EnvFolder) -> None:
    assert give(env, groups=GROUPS, users=USERS, everyone=True, take=True) == NOBODY


def test_the_folders_own_group_is_named_too_and_loses_its_right(env: EnvFolder, lists: Lists) -> None:
    own = grp.getgrgid(env.folder.stat().st_gid).gr_name
    lists.known[env.folder] = Access(owning_group=acl.READ)
    assert shared_with(env).groups == (own,)
    assert give(env, groups=[own]).groups == (own,)
    assert lists.known[env.folder].groups == {}
    assert give(env, groups=[own], take=True) == NOBODY


def test_numbers_without_a_name_are_shown(env: EnvFolder, lists: Lists) -> None:
    lists.known[env.folder] = Access(users={54321: 5, 54322: 0}, groups={54323: 5})
    assert shared_with(env) == Sharing(False, ("54323",), ("54321",))


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("groups", "group: there is no Unix group 'no-such' here"),
        ("users", "user: there is no Unix account 'no-such' here"),
    ],
)
def test_who_is_not_there_is_said_and_nothing_changes(env: EnvFolder, kind: str, says: str) -> None:
    with pytest.raises(Missing, match=says):
        share(env, **{"groups": GROUPS[:1], "users": [], kind: ["no-such"]}, everyone=True)
    assert shared_with(env) == NOBODY


def test_an_environment_that_is_not_there_cannot_be_shared(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="there is no users/ann/other"):
        give(env_of(tmp_path, "other"), everyone=True)


def test_that_of_another_account_is_not_ones_own_to_share(env: EnvFolder, lists: Lists) -> None:
    lists.error = PermissionError(errno.EPERM, "Operation not permitted")
    with pytest.raises(Wrong, match="users/ann/vision is not yours to share"):
        give(env, everyone=True)


def test_another_error_is_that_error(env: EnvFolder, lists: Lists) -> None:
    lists.error = OSError(errno.EIO, "Input/output error")
    with pytest.raises(OSError, match="Input/output"):
        give(env, everyone=True)


def test_without_access_lists_one_group_becomes_the_folders_own(
    env: EnvFolder, lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists.error = Unsupported(errno.ENOTSUP, "Operation not supported")
    given: list[int] = []
    monkeypatch.setattr(sharing.os, "chown", lambda folder, user, group: given.append(group))
    give(env, groups=GROUPS[:1], everyone=True)
    assert given == [grp.getgrnam(GROUPS[0]).gr_gid]
    assert lists.known[env.folder] == Access(owning_group=acl.READ, other=acl.READ)


@pytest.mark.parametrize("more", ["users", "two groups", "the folder's own group"])
def test_without_access_lists_more_than_one_group_is_refused(env: EnvFolder, lists: Lists, more: str) -> None:
    lists.error = Unsupported(errno.ENOTSUP, "Operation not supported")
    if more == "the folder's own group":
        lists.known[env.folder] = Access(owning_group=acl.READ)
    groups = GROUPS if more == "two groups" else GROUPS[:1]
    with pytest.raises(Wrong, match=r"has no access lists, and so knows one group only: .* or --all"):
        give(env, groups=groups, users=USERS[:1] if more == "users" else [])


def test_without_access_lists_a_group_of_others_needs_an_admin(
    env: EnvFolder, lists: Lists, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    lists.error = Unsupported(errno.ENOTSUP, "Operation not supported")
    monkeypatch.setattr(sharing.os, "chown", refuse)
    with pytest.raises(Wrong, match=f"'{GROUPS[0]}' is no group of yours"):
        give(env, groups=GROUPS[:1])
