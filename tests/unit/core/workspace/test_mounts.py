"""Mount rules: which one decides, what they become, what is refused before it is stored."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.workspace.mounts import (
    RESERVED,
    Action,
    Mount,
    MountKind,
    MountRule,
    admitted,
    explain,
    resolve,
)
from hai_scheduler.core.workspace.templates import TemplateError, Unresolvable, Wrong, below
from kit.builders import a_mount_rule

#: More examples with, for example, HAI_EXAMPLES=20.
MORE = int(os.environ.get("HAI_EXAMPLES", "1"))


def rule(name: str, subject: str, path: str = "/data", source: str | None = None, **fields: Any) -> MountRule:
    return a_mount_rule(name, subject=subject, mount_path=path, source=source or f"/src/{name}", **fields)


def minus(name: str, subject: str, path: str = "/data", **fields: Any) -> MountRule:
    return a_mount_rule(name, subject=subject, mount_path=path, action=Action.REMOVE, **fields)


def seen(*rules: MountRule, user: str = "alice", groups: tuple[str, ...] = ("ml", "nlp"), task: int | None = 41) -> str:
    mounts = resolve(rules, user, groups, None if task is None else TaskId(task), "training")
    return " ".join(f"{mount.mount_path}={mount.source}" for mount in mounts)


@pytest.mark.parametrize(
    ("sentence", "rules", "expected"),
    [
        ("no rule", [], ""),
        ("a rule for all users counts", [rule("p", "public")], "/data=/src/p"),
        ("a rule for another user does not", [rule("b", "user:bob")], ""),
        ("a rule for another group does not", [rule("g", "group:vision")], ""),
        ("one's group wins over all users", [rule("p", "public"), rule("g", "group:ml")], "/data=/src/g"),
        ("one's own wins over one's group", [rule("g", "group:ml"), rule("u", "user:alice")], "/data=/src/u"),
        (
            "its subject counts before its priority",
            [rule("p", "public", priority=9), rule("u", "user:alice", priority=-9)],
            "/data=/src/u",
        ),
        (
            "of one kind the higher priority wins",
            [rule("a", "group:ml", priority=1), rule("b", "group:nlp", priority=2)],
            "/data=/src/b",
        ),
        ("of one priority the name decides", [rule("b", "group:ml"), rule("a", "group:nlp")], "/data=/src/a"),
        ("a stronger rule takes away", [rule("p", "public"), minus("g", "group:ml")], ""),
        ("a weaker one does not", [minus("p", "public"), rule("g", "group:ml")], "/data=/src/g"),
        (
            "what takes away is overruled in its turn",
            [rule("p", "public"), minus("g", "group:ml"), rule("u", "user:alice")],
            "/data=/src/u",
        ),
        (
            "what takes away speaks of its own path alone",
            [rule("p", "public"), rule("q", "public", "/data/x"), minus("u", "user:alice")],
            "/data/x=/src/q",
        ),
        (
            "folders come before those below them",
            [rule("c", "public", "/a/b/c"), rule("b", "public", "/a-b"), rule("z", "public", "/a")],
            "/a=/src/z /a/b/c=/src/c /a-b=/src/b",
        ),
        (
            "rules meet at the path that they become",
            [rule("p", "public", "/home/{user}"), rule("u", "user:alice", "/home/alice")],
            "/home/alice=/src/u",
        ),
        ("a rule for other nodes says nothing", [rule("p", "public", node_group="jupyter")], ""),
        ("a rule for these nodes does", [rule("p", "public", node_group="training")], "/data=/src/p"),
        (
            "a group's rules know their group",
            [rule("g", "group:ml", "/g/{group}", "/src/{group}/{user}/{task}")],
            "/g/ml=/src/ml/alice/41",
        ),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) and " " in value else None,
)
def test_the_strongest_rule_of_a_path_decides(sentence: str, rules: list[MountRule], expected: str) -> None:
    assert seen(*rules) == expected
    assert seen(*reversed(rules)) == expected


@pytest.mark.parametrize(
    "task_rule",
    [
        rule("t", "public", "/data/{task}"),
        rule("t", "public", "/data", "/src/{task}"),
        minus("t", "public", "/x/{task}"),
    ],
    ids=["in its path", "in its source", "in what it removes"],
)
def test_a_rule_that_needs_a_task_is_not_for_development_containers(task_rule: MountRule) -> None:
    assert explain([task_rule], "alice", (), None, "training").placed == ()
    assert seen(rule("p", "public"), task_rule, task=None) == "/data=/src/p"


def test_what_is_overruled_is_told_with_the_rule_that_did_it() -> None:
    rules = [rule("a", "group:ml"), rule("b", "group:nlp"), rule("p", "public"), minus("q", "public", "/x")]
    found = explain([*rules, rule("r", "public", "/x")], "alice", ("ml", "nlp"), None, "jupyter")
    assert [(one.rule, one.mount.mount_path) for one in found.placed] == [("a", "/data")]
    assert [(one.rule, one.mount_path, one.why) for one in found.left_out] == [
        ("b", "/data", "rule 'a' of group:ml is stronger"),
        ("p", "/data", "rule 'a' of group:ml is stronger"),
        ("r", "/x", "rule 'q' of public takes it away"),
    ]


def test_a_claim_becomes_its_name_and_a_folder_in_it() -> None:
    claim = rule("c", "public", "/home/{user}", "home-{user}/deep/{task}", kind=MountKind.PVC, read_only=False)
    assert resolve([claim], "alice", (), TaskId(41), "training") == (
        Mount(kind=MountKind.PVC, source="home-alice", sub_path="deep/41", mount_path="/home/alice", read_only=False),
    )
    whole = rule("c", "public", "/sets", "datasets", kind=MountKind.PVC)
    assert resolve([whole], "alice", (), None, "jupyter") == (
        Mount(kind=MountKind.PVC, source="datasets", mount_path="/sets"),
    )


@pytest.mark.parametrize(
    ("bad", "user", "said"),
    [
        (rule("r", "public", "/home/{user}"), "../bob", "mount rule 'r': mount_path: the user name '../bob'"),
        (rule("r", "public", "/x", "/home/{user}"), "a/b", "mount rule 'r': source: the user name 'a/b'"),
        (rule("r", "public", "/home/{user}"), "a:b", "holds a ':', which no mount path can"),
        (rule("r", "public", "/x", "home-{user}", kind=MountKind.PVC), "Al_ice", "'home-Al_ice' is not the name of a"),
        (rule("r", "public", "/x", "home-{user}", kind=MountKind.PVC), "alice.", "is not the name of a claim"),
    ],
    ids=["path", "source", "colon", "claim", "claim's end"],
)
def test_a_name_that_fits_no_path_stops_everything_and_names_the_rule(bad: MountRule, user: str, said: str) -> None:
    with pytest.raises(Unresolvable) as caught:
        resolve([rule("fine", "public"), bad], user, (), TaskId(1), "training")
    assert said in str(caught.value)
    resolve([replace(bad, subject="user:bob")], user, (), TaskId(1), "training")


def test_a_source_that_is_overruled_anyway_stops_nothing() -> None:
    own = rule("u", "user:a..b", "/home")
    assert seen(rule("p", "public", "/home", "/src/{user}"), own, user="a..b") == "/home=/src/u"


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"name": ""}, "name", "use 1 to 63"),
        ({"name": "../x"}, "name", "use 1 to 63"),
        ({"subject": "alice"}, "subject", "write user:NAME, group:NAME or public"),
        ({"subject": "user:"}, "subject", "write user:NAME"),
        ({"subject": "total:ml"}, "subject", "write user:NAME"),
        ({"subject": "public:x"}, "subject", "write user:NAME"),
        ({"priority": 1001}, "priority", "between -1000 and 1000"),
        ({"mount_path": "data"}, "mount_path", "is not absolute"),
        ({"mount_path": "/"}, "mount_path", "nothing may cover '/'"),
        ({"mount_path": "/data/../etc"}, "mount_path", "holds '..'"),
        ({"mount_path": "/{user}"}, "mount_path", "begins with a field"),
        ({"mount_path": "/a:b"}, "mount_path", "holds a ':'"),
        ({"mount_path": "/data/{group}"}, "mount_path", "{group} means nothing here"),
        ({"mount_path": "/data/{user!r}"}, "mount_path", "{user!r} has a conversion"),
        ({"source": "src"}, "source", "is not absolute"),
        ({"source": "/"}, "source", "is the node's whole file system"),
        ({"source": "/{user}"}, "source", "begins with a field"),
        ({"source": "/src/{home}"}, "source", "{home} is not known"),
        ({"source": ""}, "source", "is not absolute"),
        ({"kind": None}, "kind", "say which"),
        ({"kind": MountKind.PVC, "source": "/src"}, "source", "write the claim's name"),
        ({"kind": MountKind.PVC, "source": ""}, "source", "write the claim's name"),
        ({"kind": MountKind.PVC, "source": "{user}"}, "source", "write the claim's name"),
        ({"kind": MountKind.PVC, "source": "{user}-home"}, "source", "write the claim's name"),
        ({"kind": MountKind.PVC, "source": "Data_Sets"}, "source", "small letters"),
        ({"kind": MountKind.PVC, "source": "sets/../x"}, "source", "holds '..'"),
        ({"action": Action.REMOVE, "source": "", "kind": MountKind.PVC}, "source", "leave them out"),
        ({"action": Action.REMOVE, "kind": None, "source": "/x"}, "source", "leave them out"),
    ],
    ids=lambda value: " ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else None,
)
def test_a_wrong_rule_is_refused_with_its_field(wrong: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(Wrong) as caught:
        admitted(a_mount_rule(**wrong), [])
    assert (caught.value.field, said in caught.value.message) == (field, True), caught.value


@pytest.mark.parametrize("folder", RESERVED)
def test_nothing_is_mounted_on_the_systems_folders_nor_the_platforms(folder: str) -> None:
    for path in (folder, f"{folder}/", f"/{folder}/x/{{user}}"):
        with pytest.raises(Wrong, match=f"nothing may be mounted in {folder}"):
            admitted(a_mount_rule(mount_path=path), [])
    admitted(a_mount_rule(mount_path=f"{folder}-of-mine"), [])


def test_paths_are_stored_normalised() -> None:
    stored = admitted(a_mount_rule(mount_path="//data///x/", source="/src//{user}/"), [])
    assert (stored.mount_path, stored.source) == ("/data/x", "/src/{user}")


@pytest.mark.parametrize(
    ("other", "refused"),
    [
        ({}, True),
        ({"mount_path": "/data/"}, True),
        ({"node_group": "training"}, True),
        ({"action": Action.REMOVE}, True),
        ({"priority": 1}, False),
        ({"subject": "group:ml"}, False),
        ({"mount_path": "/data/x"}, False),
        ({"name": "mine"}, False),
    ],
    ids=["the same", "written otherwise", "on some nodes", "removing", "priority", "subject", "path", "itself"],
)
def test_two_rules_that_only_their_names_would_rank_are_a_mistake(other: dict[str, Any], refused: bool) -> None:
    standing = admitted(a_mount_rule(**{"name": "standing", "mount_path": "/data", **other}), [])
    mine = a_mount_rule("mine", mount_path="/data")
    if not refused:
        assert admitted(mine, [standing]) == admitted(mine, [])
        return
    with pytest.raises(Wrong, match="rule 'standing' of public says something of /data at the same priority") as caught:
        admitted(mine, [standing])
    assert caught.value.field == "priority"


def test_rules_for_different_nodes_do_not_meet() -> None:
    mine = a_mount_rule("mine", node_group="a")
    assert admitted(mine, [a_mount_rule("standing", node_group="b")]) == admitted(mine, [])


# --- any rules of admins and any names of users

#: Mostly valid templates, so that many of them are resolved; now and then an invalid one.
GOOD = ["a", "b", "{user}", "x-{user}", "{task}", "{user}{task}", "a-b"]
WORDS = st.sampled_from([*GOOD * 5, "{group}", "..", ".", "etc", "", "{{", "a:b"])
FIRST = st.sampled_from([*["a", "b"] * 8, "etc", "hai", "{user}", ".."])
PATHS = st.tuples(FIRST, st.lists(WORDS, max_size=2)).map(lambda path: "/" + "/".join([path[0], *path[1]]))
CLAIMS = st.tuples(st.sampled_from([*["c", "c-{user}"] * 5, "{user}", "C"]), st.lists(WORDS, max_size=2)).map(
    lambda path: "/".join([path[0], *path[1]])
)
NAMES = st.sampled_from([*["alice", "a", "b"] * 6, "..", ".", "a/b", "", "x:y", "{user}", "\0", "Ä"]) | st.text(
    max_size=3
)
SUBJECTS = st.sampled_from(["public", "user:alice", "user:a", "group:ml", "group:a", "group:b", "group:.."])


@st.composite
def rules(draw: st.DrawFn, name: str) -> MountRule:
    removes = draw(st.sampled_from([False, False, True]))
    kind = None if removes else draw(st.sampled_from(MountKind))
    return MountRule(
        name=name,
        subject=draw(SUBJECTS),
        action=Action.REMOVE if removes else Action.ADD,
        kind=kind,
        source="" if removes else draw(CLAIMS if kind is MountKind.PVC else PATHS),
        mount_path=draw(PATHS),
        read_only=draw(st.booleans()),
        priority=draw(st.integers(-2, 2)),
        node_group=draw(st.sampled_from([None, None, "training", "jupyter"])),
    )


MANY = st.tuples(*(rules(name) for name in "gbdafhce")).map(list)


def admitted_ones(given_rules: list[MountRule]) -> dict[str, MountRule]:
    """The rules, by name, that an admin could write one after the other."""
    kept: dict[str, MountRule] = {}
    for one in given_rules:
        try:
            kept[one.name] = admitted(one, kept.values())
        except Wrong:
            continue
    return kept


@settings(max_examples=300 * MORE, deadline=None)
@given(
    given_rules=MANY,
    user=NAMES,
    groups=st.sets(st.sampled_from(["ml", "a", "b", ".."]), max_size=3),
    task=st.none() | st.integers(1, 99),
    data=st.data(),
)
def test_resolution_is_safe_and_does_not_depend_on_the_order_of_the_rules(
    given_rules: list[MountRule], user: str, groups: set[str], task: int | None, data: st.DataObject
) -> None:
    kept = admitted_ones(given_rules)
    task_id = None if task is None else TaskId(task)

    def outcome(ordered: list[MountRule]) -> object:
        try:
            return explain(ordered, user, groups, task_id, "training")
        except Unresolvable as error:
            return str(error)

    found = outcome(list(kept.values()))
    assert outcome(data.draw(st.permutations(list(kept.values())))) == found
    if isinstance(found, str):
        return
    mounts = found.mounts  # type: ignore[attr-defined]
    paths = [mount.mount_path for mount in mounts]
    assert len(set(paths)) == len(paths)
    for one in found.placed:  # type: ignore[attr-defined]
        path = one.mount.mount_path
        assert posixpath.normpath(path) == path
        assert path != "/"
        assert not any(below(path, folder) for folder in RESERVED)
        assert not any(below(later, path) for later in paths[: paths.index(path)]), "folders come first"
        written = kept[one.rule]
        if one.mount.kind is MountKind.HOST_PATH:
            assert below(one.mount.source, "/" + written.source.split("/")[1])
            assert posixpath.normpath(one.mount.source) == one.mount.source
        else:
            assert "/" not in one.mount.source
            assert not {".", ".."} & set(one.mount.sub_path.split("/"))
            assert not one.mount.sub_path.startswith("/")


def test_a_damaged_row_is_no_silent_mount() -> None:
    with pytest.raises(TemplateError):
        resolve([rule("r", "public", "/home/{user.name}")], "alice", (), None, "training")
