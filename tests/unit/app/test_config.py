"""A wrong setting is named; none is quietly left at its default."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from hai_scheduler.app.config import ConfigError, HaiScheduler
from hai_scheduler.app.serve import serve
from hai_scheduler.service.quota.default import ON_A_CLUSTER

BASE = ["--role", "api", "--state-dir", "/tmp/state", "--port", "1"]


@pytest.mark.parametrize(
    ("sentence", "arguments", "named"),
    [
        ("no role", ["--port", "1"], "--role loop and one with --role api"),
        ("no state folder", ["--role", "loop", "--port", "1"], "state-dir"),
        ("a lease that is too short", [*BASE, "--HaiScheduler.lease_length=10ms"], "HaiScheduler.lease_length"),
        (
            "fewer than no starts at once",
            [*BASE, "--HaiScheduler.starts_at_once=-1"],
            "HaiScheduler.starts_at_once is -1",
        ),
        ("a length of time that is none", [*BASE, "--HaiScheduler.keep_ended=banana"], "HaiScheduler.keep_ended"),
        ("the same for the policy", [*BASE, "--slice=banana"], "slice"),
        ("numbers that contradict each other", [*BASE, "--min-run=2h"], "min_run"),
        ("a quota that is no number", [*BASE, "--HaiScheduler.default_quota=some"], "default_quota is 'some': write a"),
        ("a quota below nought", [*BASE, "--HaiScheduler.default_quota=-1"], "HaiScheduler.default_quota"),
        ("a configuration file that is not there", [*BASE, "--config", "/no/such/file.py"], "/no/such/file.py"),
    ],
)
def test_what_is_wrong_is_named(sentence: str, arguments: list[str], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        HaiScheduler().settings(arguments)


def test_a_broken_configuration_file_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("c.SchedulingPolicy.slice = '1h'\nthis is not Python\n")
    with pytest.raises(ConfigError, match=r"broken\.py cannot be used"):
        HaiScheduler().settings([*BASE, "--config", str(file)])


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.py"
    file.write_text("c.SchedulingPolicy.slice = '1h'\nc.SchedulingPolicy.min_run = '5m'\n")
    policy = HaiScheduler().settings([*BASE, "--config", str(file), "--slice=2h"]).service.policy.default
    assert (policy.slice.total_seconds(), policy.min_run.total_seconds()) == (7200, 300)


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        ([], max(4, os.cpu_count() or 1)),
        (["--HaiScheduler.starts_at_once=3"], 3),
        (["--cluster=kubernetes", "--KubernetesSettings.parallel=50"], 50),
    ],
)
def test_how_many_ranks_start_at_once_follows_from_the_kind_of_cluster(arguments: list[str], starts: int) -> None:
    more = ["--KubernetesSettings.api_url=http://hub/services/hai/api/v1", "--KubernetesSettings.namespace=hai"]
    assert HaiScheduler().settings([*BASE, *more, *arguments]).service.starts_at_once == starts


@pytest.mark.parametrize(
    ("arguments", "nodes"),
    [
        ([], None),
        (["--HaiScheduler.default_quota=all"], None),
        (["--HaiScheduler.default_quota=0"], 0),
        (["--HaiScheduler.default_quota=16"], 16),
        (["--cluster=kubernetes"], ON_A_CLUSTER),
        (["--cluster=kubernetes", "--HaiScheduler.default_quota=all"], None),
    ],
    ids=["one machine", "all", "nothing", "a number", "a cluster", "all of a cluster"],
)
def test_only_one_machine_is_open_to_all_users_unless_it_is_written(arguments: list[str], nodes: int | None) -> None:
    kubernetes = ["--KubernetesSettings.api_url=http://hai", "--KubernetesSettings.namespace=work"]
    assert HaiScheduler().settings([*BASE, *kubernetes, *arguments]).service.default_quota == nodes


def test_a_service_that_may_not_change_its_user_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hai_scheduler.adapters.local.accounts.lacking_rights", lambda: ["CAP_SETUID"])
    settings = HaiScheduler().settings(
        ["--role", "loop", "--state-dir", str(tmp_path / "s"), "--port", "1", "--unix-users", "{username}"]
    )
    with pytest.raises(ConfigError, match=r"^unix-users: .*CAP_SETUID is missing: start the platform as root"):
        asyncio.run(serve(settings))
    assert not (tmp_path / "s-users").exists()


def test_unix_users_are_for_one_machine(tmp_path: Path) -> None:
    words = ["--role", "loop", "--state-dir", str(tmp_path), "--port", "1"]
    assert HaiScheduler().settings(words).unix_users == ""
    assert HaiScheduler().settings([*words, "--unix-users", "{username}"]).unix_users == "{username}"
    with pytest.raises(ConfigError, match=r"unix-users: is '\{username\}': it is for the processes of one machine"):
        HaiScheduler().settings([*words, "--unix-users", "{username}", "--cluster", "kubernetes"])
