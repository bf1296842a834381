"""`hai admin mounts`, `hai admin environments`, `hai environments`, `hai submit --environment`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from hai_client.api import Client

Hai = Callable[..., Any]

HOME = ["home", "public", "/home/{user}", "--host-path", "/data/{user}", "--write"]


def words(out: str) -> list[list[str]]:
    return [re.split(r"  +", line.strip()) for line in out.splitlines()]


def test_an_admin_writes_lists_and_removes_rules(hai: Hai, platform: Any) -> None:
    assert hai("admin", "mounts", "list").out.startswith("no rules; `hai admin mounts set --help`")
    assert hai("admin", "mounts", "set", *HOME, "--priority", "-3", "--description", "homes").out == (
        "home: public reads and writes /data/{user} at /home/{user}, from the next start on\n"
    )
    assert platform.calls[-1].body == {
        "subject": "public", "action": "add", "kind": "host_path", "source": "/data/{user}",
        "mount_path": "/home/{user}", "read_only": False, "priority": -3, "node_group": None, "description": "homes",
    }  # fmt: skip
    out = hai("admin", "mounts", "set", "sets", "group:ml", "/sets", "--claim", "datasets/v1", "-g", "training").out
    assert out == "sets: group:ml reads claim datasets/v1 at /sets on training nodes, from the next start on\n"
    out = hai("admin", "mounts", "set", "away", "user:bob", "/sets", "--remove").out
    assert out == "away: user:bob no longer sees what weaker rules mount at /sets\n"
    removing = {"kind": None, "source": "", "action": "remove"}
    assert {name: platform.calls[-1].body[name] for name in removing} == removing
    assert words(hai("admin", "mounts", "list").out)[1:] == [
        ["home", "public", "/home/{user}", "/data/{user}", "write", "-3", "all", "homes"],
        ["sets", "group:ml", "/sets", "claim datasets/v1", "read", "0", "training"],
        ["away", "user:bob", "/sets", "-", "none", "0", "all"],
    ]
    assert hai("admin", "mounts", "remove", "away").out == "rule away is removed; what runs keeps its mounts\n"
    assert set(platform.mounts) == {"home", "sets"}


def test_an_admin_sees_what_a_users_container_gets(hai: Hai, platform: Any) -> None:
    out = hai("admin", "mounts", "list", "--for", "alice", "-g", "labs").out
    assert out == "no rule mounts anything for alice on labs nodes\n"
    hai("admin", "mounts", "set", *HOME)
    hai("admin", "mounts", "set", "sets", "public", "/sets", "--claim", "datasets")
    assert words(hai("admin", "mounts", "list", "--for", "alice").out) == [
        ["PATH", "FROM", "ACCESS", "RULE"],
        ["/home/alice", "/data/{user}", "write", "home"],
        ["/sets", "claim datasets/x", "read", "sets"],
        ["not used: rule weak at /d: rule 'd' of public is stronger"],
    ]


def test_a_slip_of_the_pen_is_told_beside_the_answer(hai: Hai) -> None:
    result = hai("admin", "mounts", "set", "x", "user:stranger", "/x", "--host-path", "/x")
    assert (result.code, result.err) == (0, "hai: HAI has never seen a user 'stranger'\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["mounts", "set", "x", "ml", "/x", "--host-path", "/y"], "subject: 'ml' is not a subject; write user:ml"),
        (["mounts", "set", "x", "public", "/x"], "one of the arguments --host-path --claim --remove is required"),
        (["mounts", "set", "x", "public", "/x", "--claim", "c", "--remove"], "not allowed with"),
        (["mounts", "set", "x", "public", "/x", "--remove", "--write"], "write: a rule that removes gives no access"),
        (["mounts", "set", "x", "public", "/x", "--host-path", "/y", "--priority", "high"], "priority: 'high' is not"),
        (["mounts", "set", "x", "public", "/etc", "--host-path", "/y"], "mount_path: nothing may be mounted in /etc"),
        (["mounts", "set", "..", "public", "/x", "--host-path", "/y"], "mount: '..' is not a name; `hai admin mou"),
        (["mounts", "list", "-g", "training"], "group: 'training' says where a user's container runs; name the user"),
        (["environments", "set", "t"], "for: say who may use it; write for example --for public"),
        (["environments", "set", "t", "--for", "ml"], "subject: 'ml' is not a subject"),
        (["environments", "set", "t", "--for", "public", "-e", "A-B=1"], "env: 'A-B=1' is not NAME=VALUE"),
    ],
    ids=["subject", "no source", "two sources", "write nothing", "priority", "refused", "dots", "group alone",
         "no subject", "an odd subject", "variable"],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_remedy(hai: Hai, given: list[str], said: str) -> None:
    result = hai("admin", *given)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("hai: ")
    assert said in result.err


def test_only_admins_may(hai: Hai, platform: Any) -> None:
    platform.admin = False
    for given in (["mounts", "list"], ["mounts", "set", *HOME], ["environments", "list"], ["mounts", "remove", "x"]):
        assert hai("admin", *given).code == 3


def test_an_admin_writes_environments_and_users_see_theirs(hai: Hai, platform: Any) -> None:
    assert hai("admin", "environments", "list").out.startswith("no images; ")
    assert hai("environments").out.startswith("there is none: your tasks run in the platform's own; ")
    out = hai(
        "admin", "environments", "set", "torch", "--image", "torch:2", "--python", "/opt/bin/python", "--for", "public",
        "-e", "HF_HOME=/hf/{user}", "-e", "A=b=c", "--default", "--description", "PyTorch",
    ).out  # fmt: skip
    assert out == (
        "torch: image torch:2, Python /opt/bin/python, with A HF_HOME; the default of public, from the next start on\n"
    )
    assert platform.calls[-1].body == {
        "image": "torch:2", "python": "/opt/bin/python", "variables": {"HF_HOME": "/hf/{user}", "A": "b=c"},
        "subjects": ["public"], "description": "PyTorch", "default": True, "machine": "", "glibc": "",
    }  # fmt: skip
    out = hai(
        "admin", "environments", "set", "old", "--image", "old:1", "--glibc", "2.31", "--machine", "x86_64",
        "--for", "user:bob",
    ).out  # fmt: skip
    assert out.startswith("old: image old:1, for x86_64, glibc 2.31; free for user:bob")
    assert {key: platform.calls[-1].body[key] for key in ("glibc", "machine")} == {"glibc": "2.31", "machine": "x86_64"}
    hai("admin", "environments", "remove", "old")
    out = hai("admin", "environments", "set", "plain", "--for", "user:bob", "--for", "group:ml").out
    assert out == "plain: the cluster's image; free for user:bob, group:ml, from the next start on\n"
    assert words(hai("admin", "environments", "list").out)[1:] == [
        ["torch", "yes", "torch:2", "/opt/bin/python", "A HF_HOME", "public"],
        ["plain", "-", "-", "-", "-", "user:bob group:ml"],
    ]
    assert words(hai("environments").out)[1:] == [
        ["torch", "image", "yes", "/opt/bin/python", "-", "-", "torch:2, PyTorch"]
    ]
    assert [one["name"] for one in json.loads(hai("environments", "--json").out)["items"]] == ["torch"]
    out = hai("admin", "environments", "remove", "torch").out
    assert out == "image torch is removed; what runs goes on, tasks that name it cannot start any more\n"


VISION = {
    "owner": "groups/cv", "generation": 3, "generations": [2, 3], "digest": f"sha256:{'ab' * 32}", "python": "3.11.7",
    "cuda": None, "files": 24_032, "size": 877_000_000, "extends": "base/torch@3", "built_by": "ann",
    "built_at": "2026-01-05T08:00:00Z", "kernel": True, "draft": False, "trouble": "", "may_build": True,
}  # fmt: skip


def a_haienv(name: str, **facts: Any) -> dict[str, Any]:
    return {
        "kind": "haienv", "name": name, "full_name": name, "image": None, "python": None, "variables": {},
        "subjects": ["public"], "description": "", "default": False, "chosen": False, "warnings": [],
        "haienv": {**VISION, "owner": name.rpartition("/")[0], **facts},
    }  # fmt: skip


def test_images_and_environments_are_one_list(hai: Hai, platform: Any) -> None:
    hai("admin", "environments", "set", "vision", "--image", "v:1", "--for", "public")
    for name, facts in (
        ("users/ann/vision", {"draft": True}),
        ("users/ann/own", {}),
        ("groups/cv/vision", {"may_build": False}),
        ("base/torn", {"generation": None, "size": None, "python": "", "trouble": "its first build has not ended"}),
    ):
        platform.environments[name] = a_haienv(name, **facts)
    assert words(hai("environments").out)[1:] == [
        ["vision", "image", "-", "-", "-", "-", "v:1"],
        ["users/ann/vision", "haienv", "-", "3.11.7", "3 (abababababab)", "877 MB", "has a draft"],
        ["users/ann/own", "haienv", "-", "3.11.7", "3 (abababababab)", "877 MB", "-"],
        ["groups/cv/vision", "haienv", "-", "3.11.7", "3 (abababababab)", "877 MB", "-"],
        ["base/torn", "haienv", "-", "-", "-", "-", "its first build has not ended"],
    ]
    # What Tab offers can be written as it is: `vision` alone is the image here.
    assert hai("__complete", "environments").out.split() == [
        "vision", "users/ann/vision", "own", "users/ann/own", "groups/cv/vision", "base/torn",
    ]  # fmt: skip


def test_one_is_shown_with_its_packages(hai: Hai, platform: Any) -> None:
    one = a_haienv("groups/cv/vision")
    platform.environments["groups/cv/vision"] = {**one, "generation": 2, "packages": {"timm": "1.0"}, "prefix": "/p"}
    out = hai("environments", "show", "groups/cv/vision").out
    for said in ("groups/cv/vision@2 (not current)", "3.11.7 (/p/bin/python)", "2, 3", "877 MB", "  timm 1.0"):
        assert said in out
    assert json.loads(hai("environments", "show", "groups/cv/vision", "--json").out)["packages"] == {"timm": "1.0"}
    assert hai("environments", "show", "nothing").code != 0


def test_a_build_is_asked_for_by_its_fields_and_followed_as_a_task(hai: Hai, platform: Any) -> None:
    out = hai("environments", "build", "install", "groups/cv/vision", "timm==1.0", "numpy").out
    assert "does it" in out
    assert "`hai logs -f" in out
    body = platform.calls[-1].body
    assert (body["verb"], body["requirements"]) == ("install", ["timm==1.0", "numpy"])
    words_ = ("--extend", "base/torch", "-p", "3.11", "--no-kernel", "--description", "d")
    hai("environments", "build", "create", "vision", *words_)
    assert platform.calls[-1].body == {
        "verb": "create", "requirements": [], "extend": "base/torch", "python": "3.11", "kernel": False,
        "description": "d", "generation": None, "groups": [], "users": [], "everyone": False,
    }  # fmt: skip
    hai("environments", "build", "rollback", "vision@3")
    assert platform.calls[-1].body["generation"] == 3
    hai("environments", "build", "share", "vision", "--group", "cv", "--everyone")
    assert (platform.calls[-1].body["groups"], platform.calls[-1].body["everyone"]) == (["cv"], True)
    assert "which is for rollback" in hai("environments", "build", "install", "vision@3", "timm").err
    assert hai("environments", "build", "explode", "vision").code == 2


def test_a_task_is_submitted_with_its_environment_and_shows_it(hai: Hai, platform: Any) -> None:
    assert hai("submit", "--environment", "torch", "--", "true").code == 0
    assert platform.said("POST", "/tasks")[-1].body["environment"] == "torch"
    assert hai("submit", "-e", "A=1", "--", "true").code == 0
    assert "environment" not in platform.said("POST", "/tasks")[-1].body
    platform.add("digits", environment="torch")
    assert ["image", "torch"] in words(hai("status", "digits").out)
    assert "environment: torch" in hai("describe", "digits").out


def test_the_client_asks_for_the_configuration_of_a_container(client: Client, platform: Any) -> None:
    client.set_mount("d", "public", "/d", kind="pvc", source="sets")
    config = client.container_config("alice", groups=["nlp", "ml"], node_group="labs")
    assert platform.calls[-1].query == {"user": "alice", "groups": '["ml", "nlp"]', "node_group": "labs"}
    assert (config.node_group, config.mounts[0].sub_path, config.left_out[0].rule) == ("labs", "x", "weak")
    assert "groups" not in (client.container_config("alice"), platform.calls[-1].query)[1]
