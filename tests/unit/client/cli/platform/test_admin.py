"""`hai admin`: nodes, the pause of the scheduler, and users."""

from __future__ import annotations

import json
import re
from typing import Any

from unit.client.conftest import Hai


def test_an_admin_marks_nodes_and_pauses(hai: Hai, platform: Any) -> None:
    assert hai("admin", "cordon", "node-1", "node-2").code == 0
    assert platform.marks == {"node-1": "cordoned", "node-2": "cordoned"}
    assert hai("admin", "uncordon", "node-1").code == 0
    assert hai("admin", "pause").out.startswith("paused: ")
    assert platform.paused
    assert hai("admin", "resume").out.startswith("not paused")


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


def test_who_may_add_users_and_no_admins_is_told_so(hai: Hai, platform: Any) -> None:
    platform.admin = False
    assert hai("admin", "user", "add", "carol").err.startswith("hai: token: yours does not allow you to add users at ")
    assert re.fullmatch(
        r"hai: token: yours does not allow you to make somebody an admin of JupyterHub, which --admin does, at \S+; "
        r"run `hai login` as an admin of JupyterHub\n",
        hai("admin", "user", "add", "carol", "--admin").err,
    )


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


def test_an_admin_takes_a_user_out_of_the_ledger(hai: Hai, platform: Any) -> None:
    result = hai("admin", "user", "erase", "alice")
    assert (result.code, result.out) == (0, "alice is no longer named in the ledger; all sums are as before\n")
    assert len(platform.said("DELETE", "/ledger/users/alice")) == 1
    missing = hai("admin", "user", "erase", "nobody")
    assert (missing.code, missing.out) == (2, "")
    assert "'nobody'" in missing.err
