"""Builds of environments: what can be asked for, as which words, by whom, and where they may write."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.node import Node
from hai_scheduler.core.workspace import builds
from hai_scheduler.core.workspace.builds import BuildSettings, BuildVerb, EnvironmentBuild
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.core.workspace.templates import Wrong

MINE = "users/ann/vision"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            EnvironmentBuild(
                verb=BuildVerb.CREATE,
                environment=MINE,
                extend="base/torch@3",
                python="3.11",
                requirements=("timm==1.0",),
            ),
            ("create", MINE, "--extend=base/torch@3", "--python=3.11", "timm==1.0"),
        ),
        (
            EnvironmentBuild(verb=BuildVerb.CREATE, environment=MINE, kernel=False, description="--find-links x"),
            ("create", MINE, "--no-kernel", "--description=--find-links x"),
        ),
        (
            EnvironmentBuild(
                verb=BuildVerb.INSTALL, environment="groups/cv/v", requirements=("a", "b[x]>=1; python_version<'3.12'")
            ),
            ("install", "groups/cv/v", "a", "b[x]>=1; python_version<'3.12'"),
        ),
        (
            EnvironmentBuild(verb=BuildVerb.UNINSTALL, environment=MINE, requirements=("timm",)),
            ("uninstall", MINE, "timm"),
        ),
        (EnvironmentBuild(verb=BuildVerb.REBUILD, environment="base/torch"), ("rebuild", "base/torch")),
        (EnvironmentBuild(verb=BuildVerb.ROLLBACK, environment=MINE), ("rollback", MINE)),
        (
            EnvironmentBuild(verb=BuildVerb.ROLLBACK, environment=MINE, generation=2),
            ("rollback", f"{MINE}@2"),
        ),
        (
            EnvironmentBuild(verb=BuildVerb.SHARE, environment=MINE, groups=("cv",), users=("bob",)),
            ("share", MINE, "--group=cv", "--user=bob"),
        ),
        (
            EnvironmentBuild(verb=BuildVerb.UNSHARE, environment=MINE, everyone=True),
            ("unshare", MINE, "--all"),
        ),
        (EnvironmentBuild(verb=BuildVerb.REMOVE, environment=MINE), ("remove", MINE)),
    ],
)
def test_a_build_is_a_list_of_words(build: EnvironmentBuild, words: tuple[str, ...]) -> None:
    assert builds.checked(build) == build
    assert build.command() == ("haienv", *words)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("name", {"environment": "users/ann/../bob"}),
        ("name", {"environment": "../base/x"}),
        ("name", {"environment": "groups/cv"}),
        ("name", {"environment": "users/ann/-x"}),
        ("name", {"environment": "users/ann/a@3"}),
        ("name", {"environment": "users/ann/a b"}),
        ("extend", {"extend": "--find-links=http://x"}),
        ("extend", {"extend": "torch"}),
        ("python", {"python": "/tmp/python"}),
        ("python", {"python": "3.11 --x"}),
        ("description", {"description": "a\nb"}),
        ("requirements", {"requirements": ("--find-links", "http://evil")}),
        ("requirements", {"requirements": ("-r/etc/passwd",)}),
        ("requirements", {"requirements": (" --find-links=x",)}),
        ("requirements", {"requirements": ("timm --find-links http://evil",)}),
        ("requirements", {"requirements": ("timm\t-i http://evil",)}),
        ("requirements", {"requirements": ("timm\n--find-links http://evil",)}),
        ("requirements", {"requirements": ("",)}),
        ("requirements", {"requirements": ("./here",)}),
        ("requirements", {"requirements": ("a @ git+https://example/x",)}),
        ("requirements", {"requirements": ("a" * 1001,)}),
        ("requirements", {"requirements": ("a",) * 501}),
        ("generation", {"generation": 2}),
        ("groups", {"groups": ("cv",)}),
        ("requirements", {"verb": BuildVerb.INSTALL}),
        ("requirements", {"verb": BuildVerb.UNINSTALL, "requirements": ("timm==1",)}),
        ("requirements", {"verb": BuildVerb.REMOVE, "requirements": ("timm",)}),
        ("extend", {"verb": BuildVerb.INSTALL, "extend": "base/torch", "requirements": ("a",)}),
        ("kernel", {"verb": BuildVerb.REBUILD, "kernel": False}),
        ("everyone", {"verb": BuildVerb.SHARE}),
        ("groups", {"verb": BuildVerb.SHARE, "groups": ("--all",)}),
        ("users", {"verb": BuildVerb.SHARE, "users": ("..",)}),
        ("generation", {"verb": BuildVerb.ROLLBACK, "generation": 0}),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(field: str, fields: dict[str, object]) -> None:
    build = EnvironmentBuild(**{"verb": BuildVerb.CREATE, "environment": MINE, **fields})  # type: ignore[arg-type]
    with pytest.raises(Wrong) as caught:
        builds.checked(build)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("owner", "rights", "may"),
    [
        ("users/ann", {}, True),
        ("users/bob", {}, False),
        ("users/bob", {"admin": True}, False),
        ("groups/cv", {}, False),
        ("groups/cv", {"groups": {"cv"}}, False),
        ("groups/cv", {"builds_for": {"cv"}}, False),
        ("groups/cv", {"groups": {"cv"}, "builds_for": {"cv"}}, True),
        ("groups/cv", {"groups": {"cv", "ml"}, "builds_for": {"ml"}}, False),
        ("groups/cv", {"admin": True}, True),
        ("base", {"groups": {"cv"}, "builds_for": {"cv"}}, False),
        ("base", {"admin": True}, True),
    ],
)
def test_who_may_build_what(owner: str, rights: dict[str, object], may: bool) -> None:
    given = {"groups": set(), "builds_for": set(), "admin": False, **rights}
    why = builds.refusal(owner, user="ann", **given)  # type: ignore[arg-type]
    assert (why is None) == may, why


def test_a_bare_name_is_the_users_own() -> None:
    assert builds.own_name("ann", "vision") == MINE
    assert builds.own_name("ann", "groups/cv/vision") == "groups/cv/vision"


def test_a_task_is_a_build_by_its_mark_and_its_command() -> None:
    build = EnvironmentBuild(verb=BuildVerb.REBUILD, environment="groups/cv/v")
    found = builds.of_task({builds.VARIABLE: build.mark(admin=False)}, build.command())
    assert found is not None
    assert (found.environment, found.admin) == ("groups/cv/v", False)
    by_admin = builds.of_task({builds.VARIABLE: build.mark(admin=True)}, build.command())
    assert by_admin is not None
    assert by_admin.admin
    assert builds.of_task({}, build.command()) is None
    assert builds.of_task({builds.VARIABLE: build.mark(admin=False)}, ("sh", "-c", "x")) is None
    assert builds.of_task({builds.VARIABLE: "rebuild ../x"}, ("haienv", "rebuild", "../x")) is None


def test_who_has_left_the_group_builds_for_it_no_more() -> None:
    asked = builds.BuildTask(environment="groups/cv/v", admin=False)
    assert asked.refusal("ann", {"cv"}) is None
    assert "ann is not in the group cv any more" in str(asked.refusal("ann", set()))
    assert builds.BuildTask(environment="groups/cv/v", admin=True).refusal("root", set()) is None
    assert builds.BuildTask(environment=MINE, admin=False).refusal("ann", set()) is None


ROOT = Mount(kind=MountKind.PVC, source="envs", sub_path="all", mount_path="/haienv", read_only=True)
HOST = Mount(kind=MountKind.HOST_PATH, source="/export/haienv", mount_path="/haienv", read_only=True)
DATA = Mount(kind=MountKind.HOST_PATH, source="/data", mount_path="/data", read_only=True)


@pytest.mark.parametrize(
    ("mounts", "more"),
    [
        (
            (DATA, ROOT),
            Mount(
                kind=MountKind.PVC,
                source="envs",
                sub_path="all/groups/cv",
                mount_path="/haienv/groups/cv",
                read_only=False,
            ),
        ),
        (
            (DATA, HOST),
            Mount(
                kind=MountKind.HOST_PATH,
                source="/export/haienv/groups/cv",
                mount_path="/haienv/groups/cv",
                read_only=False,
            ),
        ),
    ],
)
def test_a_build_may_write_below_its_owners_folder_and_nowhere_else(mounts: tuple[Mount, ...], more: Mount) -> None:
    assert builds.writable(mounts, "/haienv", "groups/cv") == (*mounts, more)


def test_the_nearest_mount_counts_and_one_of_the_owner_itself_is_opened() -> None:
    own = Mount(kind=MountKind.PVC, source="ann", mount_path="/haienv/users/ann", read_only=True)
    found = builds.writable((ROOT, own), "/haienv", "users/ann")
    assert [(one.mount_path, one.read_only) for one in found] == [("/haienv", True), ("/haienv/users/ann", False)]
    # `users/an` is not a part of `users/ann`, and ranks of one machine have no mounts.
    assert builds.writable((own,), "/haienv", "users/an") == (own,)
    assert builds.writable((), "/haienv", "base") == ()


def nodes(**gpus: int) -> list[Node]:
    return [Node(name=f"{group}-1", group=group, gpus=count) for group, count in gpus.items()]


def test_a_build_prefers_the_jupyter_nodes_and_takes_the_smallest_size_elsewhere() -> None:
    assert builds.places(nodes(training=8, jupyter=0), "jupyter") == [("jupyter", None), ("training", 1)]
    assert builds.places(nodes(training=8, cpu=0, debug=1), "jupyter") == [
        ("cpu", None),
        ("training", 1),
        ("debug", 1),
    ]
    assert builds.places([], "jupyter") == []


def test_the_account_of_builds_is_for_groups_and_base() -> None:
    builder = BuildSettings(account="hai-build")
    assert builder.account_for("groups/cv/v") == builder.account_for("base/torch") == "hai-build"
    assert builder.account_for(MINE) is None
    assert BuildSettings().account_for("base/torch") is None
