from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hai_client.cli import view
from hai_client.cli.output import Column, Output, clean, columns_of, cut

Hai = Callable[..., Any]


@pytest.fixture(autouse=True)
def some_tasks(platform: Any, fake: Any) -> None:
    platform.add("digits", runs=[fake.run_of(1), fake.run_of(2, reason="node_lost", left="ended")], run_count=2)
    platform.add("old", state="failed", verdict=None, message="its command failed with status 1", user="bob")
    platform.logs = {41: ["a", "b", "[hai] run 2 starts"], 42: ["boom"]}


def test_the_list_is_a_table_of_unfinished_tasks(hai: Hai, platform: Any) -> None:
    result = hai("list")
    head, row = result.out.splitlines()
    assert head.split() == ["ID", "NAME", "STATE", "PRIORITY", "NODES", "AGE", "RAN", "NOW"]
    assert row.startswith("41  digits  queued  NORMAL        2  ")
    assert row.endswith("#2: it needs 2 nodes and 1 is free")
    assert platform.calls[-1].query == {"state": "live", "limit": "50"}


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["-a"], {"limit": "50"}),
        (["--all", "--user", "bob"], {"user": "bob", "limit": "50"}),
        (["--all-users"], {"user": "*", "state": "live", "limit": "50"}),
        (["--state", "failed, running", "-n", "3"], {"state": "failed,running", "limit": "3"}),
        (["--name", "old"], {"name": "old", "limit": "50"}),
    ],
)
def test_the_list_is_narrowed_by_the_service(hai: Hai, platform: Any, words: list[str], query: dict[str, str]) -> None:
    assert hai("list", *words).code == 0
    assert platform.calls[-1].query == query


def test_status_is_one_screen_with_the_reason_and_the_runs(hai: Hai) -> None:
    out = hai("status", "digits").out
    assert ["RUN", "STARTED", "LASTED", "ENDED", "SAVED", "LOST", "NODES"] in map(str.split, out.splitlines())
    assert "digits, task 41 of alice: queued" in out
    assert "it needs 2 nodes and 1 is free" in out
    for words in ("llm (task 7) of bob at HIGH: 3 nodes", "turn over", "node lost"):
        assert words in out
    assert len(out.splitlines()) < 24


def test_status_says_of_each_run_whether_it_had_saved_as_far_as_is_known(hai: Hai, platform: Any, fake: Any) -> None:
    seen = {"at": "2026-11-21T04:10:00Z", "step": None, "path": "/w/out", "source": "seen"}
    runs = [fake.run_of(n, left=left) for n, left in enumerate(["saved", "unknown", "ended", None], 1)]
    platform.add("careless", runs=runs, checkpoint=seen, hint="It was interrupted twice: save.")
    out = hai("status", "careless").out
    assert "It was interrupted twice: save." in out
    assert re.search(r"checkpoint +seen .* in /w/out", out)
    assert re.findall(r"turn over +(\S+)", out) == ["yes", "unknown", "no", "-"]


def test_explain_answers_in_a_sentence(hai: Hai) -> None:
    assert hai("explain", "digits").out.splitlines()[0] == "task 41 is queued: it needs 2 nodes and 1 is free"


@pytest.mark.parametrize(
    ("state", "sentence", "said"),
    [
        ("running", "Running on node-1 since 08:12:00 UTC.", "is running on node-1 since 08:12:00 UTC."),
        ("succeeded", "Succeeded: every rank exited with status 0.", "has succeeded: every rank exited with status 0."),
        ("stopped", "Stopped: it was stopped by hand.", "is stopped: it was stopped by hand."),
        ("queued", "Needs 2 nodes but 1 is free.", "is queued: Needs 2 nodes but 1 is free."),
    ],
)
def test_a_state_is_said_once(hai: Hai, platform: Any, state: str, sentence: str, said: str) -> None:
    platform.tasks[41].update(state=state, message=sentence, verdict=None)
    assert view.standing(state, sentence) == said
    assert hai("priority", "digits", "HIGH").out == f"digits (task 41) {said}\n"


def test_an_empty_list_says_whose_tasks_it_would_show(hai: Hai, platform: Any) -> None:
    platform.tasks.clear()
    assert hai("list").out == "no unfinished task of yours; `hai list -a` shows those that have ended\n"
    assert hai("list", "-a").out == "there is no task of yours\n"
    assert hai("list", "--name", "x").out == "no task of yours is like that\n"
    assert hai("list", "-a", "--all-users").out == "there is no task\n"


def test_describe_is_yaml_that_reads_back(hai: Hai, platform: Any) -> None:
    yaml = pytest.importorskip("yaml")
    platform.tasks[41]["env"] = {"A": "1", "B": "true", "C": 'x: "y"\n', "D": "é"}
    found = yaml.safe_load(hai("describe", "digits").out)
    assert found["env"] == platform.tasks[41]["env"]
    assert (found["command"], found["cwd"], found["nodes"]) == (["python", "train.py"], "/shared/a b", 2)


def test_logs_are_printed_as_they_were(hai: Hai, platform: Any) -> None:
    assert hai("logs", "digits").out == "a\nb\n[hai] run 2 starts\n"
    assert hai("logs", "--tail", "1", "digits").out == "[hai] run 2 starts\n"
    assert hai("logs", "digits", "-r", "3", "--run", "2").code == 0
    assert (platform.calls[-1].query["rank"], platform.calls[-1].query["run"]) == ("3", "2")


def test_following_survives_a_broken_connection_and_begins_after_the_tail(hai: Hai, platform: Any) -> None:
    platform.cut_streams = [120, 5]
    assert hai("logs", "-f", "digits").out == "a\nb\n[hai] run 2 starts\n"
    platform.tasks[41]["state"] = "running"
    assert hai("logs", "-f", "--tail", "2", "digits").out == "b\n[hai] run 2 starts\n"


def test_logs_as_json_are_one_object_a_line(hai: Hai) -> None:
    for words in (["logs", "digits"], ["logs", "-f", "digits"]):
        lines = [json.loads(line) for line in hai(*words, "--json").out.splitlines()]
        assert [(line["text"], line["rank"]) for line in lines] == [("a", 0), ("b", 0), ("[hai] run 2 starts", None)]


def test_a_text_is_searched_for(hai: Hai) -> None:
    out = hai("logs", "--search", "run", "digits").out
    assert out.splitlines()[-1].split() == ["1", "-", "[hai]", "run", "2", "starts"]
    assert hai("logs", "--search", "nothing", "digits").out == "'nothing' is nowhere in the logs\n"


@pytest.mark.parametrize(("verb", "end"), [("stop", "stopped"), ("suspend", "queued, held"), ("resume", "queued")])
def test_steering_says_what_became_of_each_task(hai: Hai, verb: str, end: str) -> None:
    assert hai(verb, "digits").out.startswith(f"digits (task 41) is {end}: ")


def test_a_task_that_cannot_be_steered_does_not_stop_the_others(hai: Hai, platform: Any) -> None:
    result = hai("stop", "old", "nope", "digits")
    assert result.out.startswith("digits (task 41) is stopped")
    assert result.err.splitlines() == [
        "hai: old: task 42 has ended; submit it again",
        "hai: task: 'nope' is not a task of yours; `hai list -a` shows them",
    ]
    assert result.code == 2


def test_a_priority_is_changed_by_name_or_number(hai: Hai, platform: Any) -> None:
    assert hai("priority", "digits", "30").code == 0
    assert platform.calls[-1].body == {"priority": "HIGH"}


def test_a_task_that_shares_nodes_shows_its_gpus(hai: Hai, platform: Any, fake: Any) -> None:
    run = fake.run_of(1)
    run["ranks"] = [{**run["ranks"][0], "gpus": [0, 3]}]
    holder = {"task_id": 7, "name": "llm", "user": "bob", "priority": "HIGH", "nodes": 1, "gpus": 1}
    task = platform.add("small", nodes=1, gpus=2, runs=[run])
    task["verdict"]["holders"] = [holder]
    (row,) = (line for line in hai("list").out.splitlines() if "small" in line)
    assert " 1 x 2 GPUs " in row
    out = hai("status", "small").out
    assert "1 node x 2 GPUs of training" in out
    assert "node-1[0,3]" in out
    assert "llm (task 7) of bob at HIGH: 1 node x 1 GPU" in out


def test_a_task_with_retries_shows_how_many_are_used_and_when_the_next_begins(hai: Hai, platform: Any) -> None:
    platform.add("flaky", retries=3, retries_used=2, retry_exit_codes=[1, 137], retry_at="2126-11-21T04:00:00Z")
    out = hai("status", "flaky").out
    assert "2 of 3 used for status 1, 137, the next at 2126-" in out
    assert "retries: 3" in hai("describe", "flaky").out
    assert "retries" not in hai("status", "digits").out
    assert "retr" not in hai("describe", "digits").out


def test_a_failed_run_shows_the_status_that_ended_it_and_not_those_of_the_ranks_ended_for_it(
    hai: Hai, platform: Any, fake: Any
) -> None:
    rank = {"node": "node-1", "gpus": [], "state": "exited", "notified_at": None, "done": False, "message": None}
    ranks = [{**rank, "rank": 0, "exit_code": 137}, {**rank, "rank": 1, "exit_code": 3}]
    platform.add("torn", state="failed", runs=[fake.run_of(1, reason="failed", ranks=ranks, failed_ranks=[1])])
    assert "failed (status 3)" in hai("status", "torn").out


def test_a_shared_node_shows_every_task_on_it_and_the_gpus_that_are_free(hai: Hai, platform: Any) -> None:
    platform.on_nodes["node-2"] = [
        {"task_id": 7, "user": "bob", "gpus": [0, 1]},
        {"task_id": 9, "user": "bob", "gpus": [2]},
    ]
    lines = hai("nodes").out.splitlines()
    row = next(line for line in lines if line.startswith("node-2"))
    assert row.split() == ["node-2", "shared", "training", "leaf-1", "a", "8", "5", "7", "9", "bob"]
    assert lines[-1] == "3 nodes: 1 shared, 1 held, 1 down"


def test_nodes_quota_and_whoami_read_well(hai: Hai) -> None:
    out = hai("nodes").out
    assert "node-3  down" in out
    assert out.endswith("3 nodes: 1 free, 1 held, 1 down\n")
    assert [line.split()[:4] for line in hai("quota").out.splitlines()[1:]] == [
        ["training", "HIGH", "0", "unlimited"],
        ["training", "NORMAL", "2", "10"],
    ]
    out = hai("whoami").out
    assert out.startswith("alice at http://127.0.0.1:")
    assert "submit and steer tasks" in out


JSON = [
    (["list"], lambda found: found["items"][0]["verdict"]["position"] == 2),
    (["status", "digits"], lambda found: found["runs"][0]["ranks"][0]["exit_code"] == 0),
    (["describe", "digits"], lambda found: set(found) >= {"name", "command", "cwd", "hold"} and "id" not in found),
    (["explain", "digits"], lambda found: found["verdict"]["holders"][0]["task_id"] == 7),
    (["forecast", "digits"], lambda found: found["assumptions"][0]["tasks"] == {"unknown": 2}),
    (["decisions", "digits"], lambda found: found == {"items": []}),
    (["logs", "--search", "a", "digits"], lambda found: found["counts"] == [{"run": 1, "rank": 0, "hits": 2}]),
    (["stop", "digits"], lambda found: found["items"][0]["state"] == "stopped"),
    (["hold", "digits"], lambda found: found["items"][0]["held"] is True),
    (["priority", "digits", "LOW"], lambda found: found["items"][0]["priority"] == "LOW"),
    (["nodes"], lambda found: found["items"][2]["ready"] is False),
    (["quota"], lambda found: found["items"][1]["limit"] is None),
    (["whoami"], lambda found: found["me"]["name"] == "alice" and found["url"].startswith("http")),
    (["admin", "drain", "node-1"], lambda found: found["items"][0]["mark"] == "draining"),
    (["admin", "pause"], lambda found: found["paused"] is True),
    (["admin", "quota", "list"], lambda found: found == {"items": []}),
    (["admin", "quota", "set", "public", "LOW", "3"], lambda found: found["limit"] == 3),
    (["quota", "set", "HIGH", "8"], lambda found: (found["limit"], found["ceiling"]) == (8, 12)),
    (["policy"], lambda found: found["numbers"][0]["common"]["value"] == "30m"),
    (["admin", "policy", "set", "slice=1h"], lambda found: found["numbers"][0]["common"]["by"] == "root"),
    (["admin", "policy", "unset", "slice"], lambda found: found["numbers"][0]["common"]["source"] == "default"),
    (["environments"], lambda found: found == {"items": []}),
    (["admin", "mounts", "list"], lambda found: found == {"items": []}),
    (["admin", "mounts", "list", "--for", "alice"], lambda found: found["node_group"] == "jupyter"),
    (["admin", "mounts", "set", "d", "public", "/d", "--host-path", "/s"], lambda found: found["kind"] == "host_path"),
    (["admin", "mounts", "remove", "d"], lambda found: found == {"deleted": "d"}),
    (["admin", "environments", "list"], lambda found: found == {"items": []}),
    (["admin", "environments", "set", "t", "--for", "public"], lambda found: found["subjects"] == ["public"]),
    (["admin", "environments", "remove", "t"], lambda found: found == {"deleted": "t"}),
    (["admin", "quota", "delete", "public", "LOW"], lambda found: found["deleted"]["subject"] == "public"),
    (["admin", "user", "list"], lambda found: [user["name"] for user in found["items"]] == ["alice", "root"]),
    (["admin", "user", "add", "carol"], lambda found: found["user"]["name"] == "carol" and "token" not in found),
    (["admin", "user", "add", "carol", "--token"], lambda found: found["token"] == "made-carol"),
    (["completion", "bash"], lambda found: found["shell"] == "bash" and "hai" in found["script"]),
    (["--version"], lambda found: "version" in found),
]


@pytest.mark.parametrize(("words", "fits"), JSON, ids=lambda item: " ".join(item) if isinstance(item, list) else "")
def test_every_verb_speaks_json(hai: Hai, words: list[str], fits: Callable[[Any], bool]) -> None:
    result = hai("--json", *words)
    assert (result.code, result.err) == (0, "")
    assert fits(json.loads(result.out))


# --- admins


def test_an_admin_marks_nodes_and_pauses(hai: Hai, platform: Any) -> None:
    assert hai("admin", "cordon", "node-1", "node-2").code == 0
    assert platform.marks == {"node-1": "cordoned", "node-2": "cordoned"}
    assert hai("admin", "uncordon", "node-1").code == 0
    assert hai("admin", "pause").out.startswith("paused: ")
    assert platform.paused
    assert hai("admin", "resume").out.startswith("not paused")


def test_an_admin_writes_and_removes_quota(hai: Hai, platform: Any) -> None:
    assert hai("admin", "quota", "set", "user:alice", "high", "8").out == (
        "user:alice may hold at most 8 nodes of training at HIGH\n"
    )
    assert hai("admin", "quota", "set", "group:ml", "LOW", "none", "-g", "a100").code == 0
    row = {"subject": "group:ml", "group": "a100", "priority": "LOW", "limit": None}
    assert platform.calls[-1].body == {**row, "ceiling": None, "expires_at": None}
    assert [line.split() for line in hai("admin", "quota", "list").out.splitlines()[1:]] == [
        ["group:ml", "a100", "LOW", "unlimited", "-", "-"],
        ["user:alice", "training", "HIGH", "8", "-", "-"],
    ]
    hai("admin", "quota", "delete", "user:alice", "HIGH")
    assert len(platform.quotas) == 1


def test_a_row_of_quota_has_a_ceiling_and_an_end(hai: Hai, platform: Any) -> None:
    time = "2030-12-31T18:00:00+00:00"
    out = hai("admin", "quota", "set", "total:ml", "HIGH", "8", "--ceiling", "16", "--until", time).out
    assert platform.calls[-1].body["ceiling"] == 16
    assert platform.calls[-1].body["expires_at"] == "2030-12-31T18:00:00Z"
    assert re.fullmatch(r"total:ml may hold at most 8 nodes .* until 203\d-.*; users may raise .* up to 16\n", out)
    platform.quotas[0]["expired"] = True
    assert hai("admin", "quota", "list").out.endswith(" (expired)\n")
    for words, text in (
        (["--until", "soon"], "until: 'soon' is not a time"),
        (["--for", "soon"], "for: 'soon' is not a length of time"),
        (["--for", "1d", "--until", time], "not allowed with"),
    ):
        result = hai("admin", "quota", "set", "public", "HIGH", "8", *words)
        assert (result.code, text in result.err) == (2, True), result.err


def test_a_day_ends_at_its_end_and_a_length_begins_now(hai: Hai, platform: Any) -> None:
    for words, low, high in ((["--until", "2030-12-31"], None, None), (["--for", "7d"], 7, 7.1)):
        hai("admin", "quota", "set", "public", "HIGH", "8", *words)
        end = datetime.fromisoformat(platform.calls[-1].body["expires_at"])
        if low is None:
            assert end.astimezone().replace(tzinfo=None) == datetime(2031, 1, 1)  # noqa: DTZ001 - as on the wall here
        else:
            assert low - 0.1 < (end - datetime.now(UTC)).total_seconds() / 86_400 < high


def test_a_name_that_no_user_has_is_warned_of_and_the_row_is_written(hai: Hai, platform: Any) -> None:
    result = hai("admin", "quota", "set", "user:stranger", "HIGH", "8")
    assert (result.code, result.err) == (0, "hai: HAI has never seen a user 'stranger'\n")
    assert len(platform.quotas) == 1


def test_a_user_raises_their_own_quota_up_to_the_ceiling(hai: Hai, platform: Any) -> None:
    assert hai("quota", "set", "high", "8").out == "you may hold 8 nodes of training at HIGH, and hold 2\n"
    assert platform.calls[-1].body == {"group": "training", "priority": "HIGH", "limit": 8}
    result = hai("quota", "set", "HIGH", "13", "--group", "a100")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("hai: limit: 13 is more than 12")
    assert "12" in hai("quota").out.splitlines()[2].split()


def test_policy_numbers_are_shown_with_where_they_come_from(hai: Hai, platform: Any) -> None:
    platform.policy = {None: {"slice": "1h"}, "training": {"slice": "2h", "weights": {"alice": 2.0}}}
    lines = [re.split(r"  +", line.strip())[:4] for line in hai("policy").out.splitlines()[1:]]
    assert [line[:3] for line in lines] == [
        ["slice", "all", "1h"],
        ["training", "2h", lines[1][2]],
        ["min_run_per_switch", "all", "10"],
        ["weights", "all", "-"],
        ["training", "alice:2", lines[4][2]],
    ]
    assert lines[0][3].startswith("root, ")
    assert lines[2][3] == "default"
    shown = [line.split()[:3] for line in hai("policy", "--group", "a100").out.splitlines()[1:]]
    assert shown == [["slice", "a100", "1h"], ["min_run_per_switch", "a100", "10"], ["weights", "a100", "-"]]
    assert hai("policy", "--group", "b").err.startswith("hai: group: there is no node group 'b'; choose one of a100")


def test_an_admin_changes_policy_numbers(hai: Hai, platform: Any) -> None:
    out = hai("admin", "policy", "set", "slice=1h", "min_run_per_switch=5", "-g", "training").out
    assert out == "slice is 1h in group training (admin)\nmin_run_per_switch is 5 in group training (admin)\n"
    assert platform.calls[-1].body["set"] == {"slice": "1h", "min_run_per_switch": "5"}
    assert (
        hai("admin", "policy", "unset", "slice", "-g", "training").out == "slice is 30m in group training (default)\n"
    )
    assert platform.calls[-1].body == {"group": "training", "set": {}, "unset": ["slice"]}
    result = hai("admin", "policy", "set", "slice")
    assert (result.code, result.err) == (2, "hai: 'slice' is not NAME=VALUE; write for example slice=1h\n")
    platform.admin = False
    assert hai("admin", "policy", "set", "slice=1h").code == 3


def test_one_users_weight_is_changed_and_the_others_stay(hai: Hai, platform: Any) -> None:
    platform.policy = {None: {"weights": {"alice": 2.0, "root": 3.0}}}
    assert hai("admin", "policy", "set", "weights.alice=4").code == 0
    assert platform.policy[None]["weights"] == {"alice": 4.0, "root": 3.0}
    assert hai("admin", "policy", "unset", "weights.alice").code == 0
    assert platform.policy[None]["weights"] == {"root": 3.0}
    assert hai("admin", "policy", "set", "weights=alice:1", "weights.bob=2").code == 2
    result = hai("admin", "policy", "set", "weights.nobody=2")
    assert result.err == "hai: weights: HAI has never seen a user 'nobody'\n"


def test_an_admin_adds_a_user_and_the_token_is_printed_once_and_alone(hai: Hai, platform: Any) -> None:
    result = hai("admin", "user", "add", "carol", "--token")
    assert result.out == "made-carol\n"
    said, may = result.err.splitlines()
    assert said == "hai: carol is added; the token is shown only now"
    assert may.startswith("hai: carol may hold ")
    (call,) = platform.said("POST", "/users/carol/tokens")
    assert call.body["scopes"] == ["custom:hai:tasks:write", "access:services!service=hai"]
    assert hai("admin", "user", "add", "Dave").out == "dave is added\n"
    assert hai("admin", "user", "password", "dave").code == 2
    assert hai("admin", "user", "add", "carol").err == (
        "hai: user: 'carol' exists already; `hai admin user list` shows everyone\n"
    )


def test_a_user_who_is_no_admin_is_told_so(hai: Hai, platform: Any) -> None:
    platform.admin = False
    for words in (["admin", "pause"], ["admin", "drain", "node-1"], ["admin", "user", "add", "carol"]):
        result = hai(*words)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("hai: token: ")


# --- logging in


def test_who_may_add_users_and_no_admins_is_told_so(hai: Hai, platform: Any) -> None:
    platform.admin = False
    assert hai("admin", "user", "add", "carol").err.startswith("hai: token: yours does not allow you to add users at ")
    assert re.fullmatch(
        r"hai: token: yours does not allow you to make somebody an admin of JupyterHub, which --admin does, at \S+; "
        r"run `hai login` as an admin of JupyterHub\n",
        hai("admin", "user", "add", "carol", "--admin").err,
    )


def test_a_login_asks_for_all_rights_and_takes_what_there_is(hai: Hai, platform: Any, clean_environment: Path) -> None:
    result = hai("login", "--user", "alice", "--password-stdin", stdin="right\n")
    file = Path.home() / ".config/hai/config.json"
    assert result.out == f"logged in at {platform.url} as alice; the token is in {file}, for you alone to read\n"
    assert json.loads(file.read_text()) == {"url": platform.url, "user": "alice", "token": "made-alice"}
    asked = [call.body["scopes"] for call in platform.said("POST", "/tokens")]
    assert "custom:hai:admin" in asked[0]
    assert asked[-1] == list(platform.held_scopes)
    assert all("authorization" not in call.headers for call in platform.said("POST", "/tokens"))
    assert "HAI_TOKEN is set here and wins" in result.err


def test_an_admin_keeps_the_rights_of_an_admin(hai: Hai, platform: Any) -> None:
    platform.held_scopes += ("custom:hai:admin", "admin:users", "tokens")
    found = json.loads(hai("login", "--user", "root", "--password-stdin", "--json", stdin="right\n").out)
    assert "admin:users" in found["scopes"]
    assert "token" not in found
    assert len(platform.said("POST", "/tokens")) == 1


def test_a_new_user_gets_a_password_that_is_printed_once_beside_what_it_means(hai: Hai, platform: Any) -> None:
    platform.passwords = True
    result = hai("admin", "user", "add", "Dave")
    assert result.out == "made-for-dave\n"
    for word in ("dave is added", "shown only now", f"hai login --url {platform.url} --user dave", "share one account"):
        assert word in result.err
    found = json.loads(hai("admin", "user", "add", "Eve", "--json").out)
    assert (found["user"]["name"], found["password"]) == ("eve", "made-for-eve")
    with_token = json.loads(hai("admin", "user", "add", "bot", "--token", "--json").out)
    assert "password" not in with_token
    assert hai("admin", "user", "password", "dave").out == "made-for-dave\n"
    assert "no user nobody" in hai("admin", "user", "password", "nobody").err
    platform.admin = False
    refused = hai("admin", "user", "password", "dave")
    assert (refused.code, "run `hai login` as an admin" in refused.err) == (3, True)


def test_a_wrong_password_is_refused_and_nothing_is_kept(hai: Hai, platform: Any) -> None:
    result = hai("login", "--user", "alice", "--password-stdin", stdin="wrong-hunter2\n")
    assert (result.code, result.out) == (3, "")
    assert "hunter2" not in result.err
    assert len(result.err.splitlines()) == 1
    assert not (Path.home() / ".config/hai/config.json").exists()
    assert len(platform.said("POST", "/tokens")) == 1


def test_a_token_is_checked_before_it_is_kept(hai: Hai, platform: Any, fake: Any) -> None:
    result = hai("login", "--token-stdin", stdin="made-up\n")
    assert (result.code, "made-up" in result.err) == (3, False)
    result = hai("login", "--token-stdin", stdin=f"{fake.TOKEN}\n")
    assert result.code == 0
    assert " as alice; " in result.out
    assert fake.TOKEN not in result.out + result.err


def test_what_was_logged_in_is_used_afterwards(hai: Hai, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hai("login", "--token-stdin", stdin=f"{fake.TOKEN}\n")
    monkeypatch.delenv("HAI_TOKEN")
    monkeypatch.delenv("HAI_URL")
    assert hai("whoami").out.startswith("alice at ")


# --- how it is written


def test_a_table_is_left_whole_in_a_pipe() -> None:
    stream = io.StringIO()
    Output(stream, stream, width=None).table([Column("A")], [["word " * 90]])
    assert len(stream.getvalue().splitlines()[1]) == 5 * 90 - 1


def test_columns_that_matter_less_make_room_in_a_narrow_terminal() -> None:
    stream = io.StringIO()
    columns = [Column("NAME"), Column("AGE", optional=True), Column("RAN", optional=True), Column("NOW")]
    for width in (80, 57, 50):
        Output(stream, stream, width=width).table(columns, [["digits", "1h21m", "1h58m", "it waits " * 9]])
    heads = [line.split() for line in stream.getvalue().splitlines()[::2]]
    assert heads == [["NAME", "AGE", "RAN", "NOW"], ["NAME", "AGE", "NOW"], ["NAME", "NOW"]]


@pytest.mark.parametrize("width", [40, 60, 200])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    stream = io.StringIO()
    out = Output(stream, stream, width=width, color=False)
    out.table([Column("A", right=True), Column("B")], [["1", "日本 " * 40], ["22", "x"]])
    assert all(columns_of(line) <= width for line in stream.getvalue().splitlines())


@pytest.mark.parametrize(
    ("text", "width", "short"), [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc..."), ("日本語", 5, "日...")]
)
def test_a_text_is_shortened_by_columns(text: str, width: int, short: str) -> None:
    assert cut(text, width) == short


def test_no_users_text_can_steer_the_terminal(hai: Hai, platform: Any) -> None:
    evil = "x\x1b[2J\x07\u202e\r\ny"
    assert clean(evil) == "x [2J y"
    platform.add("evil", message=evil, verdict=None, job_state=evil, tags=[evil], user=evil)
    for words in (["list", "--all-users"], ["status", "evil"], ["hold", "evil"]):
        assert not set(hai(*words).out) & set("\x1b\x07\r\u202e")
