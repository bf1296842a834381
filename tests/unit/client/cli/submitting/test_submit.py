"""`hai submit`: what is asked for, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from hai_client.cli.language.asked_fields import ASKED_FIELDS
from hai_client.wire.schema import TaskRequest
from kit import asked
from unit.client.conftest import Hai


def sent(platform: Any) -> dict[str, Any]:
    (call,) = platform.said("POST", "/tasks")
    body: dict[str, Any] = call.body
    return body


def test_a_submission_says_what_became_of_it_and_what_to_type_next(hai: Hai, platform: Any) -> None:
    result = hai("submit", "-n", "2", "--", "python", "digits.py", "--lr", "0.1")
    assert result.code == 0
    assert result.out.splitlines() == [
        "digits is task 41: queued, position 2; it needs 2 nodes and 1 is free",
        "  hai logs -f digits  what it prints",
        "  hai status digits   where it stands, and why",
    ]
    assert result.err == ""


def test_every_option_arrives(
    hai: Hai, platform: Any, clean_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEED", "7")
    words = (
        "submit -n 3 --gpus 2 -p very-high --name x1 -g a100 -e LR=0.1 -e NOTE=a=b -e SEED --profile slurm --grace 2m "
        "--time-limit 4h --retry-backoff 30s --retry-exit-codes 137,1 "
        "--signal SIGUSR1@60 --watch out/last.pt --watch /scratch/x "
        "--ranks-per-node 4 --provide tf,MPI --secret HF_TOKEN --secret-file ~/.netrc=netrc "
        "--hold --tag t1 --tag t2 --checkpoint-dir ckpt --cwd sub -- ./run --json -n 9"
    )
    options, dashes, command = words.partition("-- ")
    more = asked_options()
    assert hai(*options.split(), *more, *dashes.split(), *command.split()).code == 0
    assert sent(platform) == {
        "name": "x1",
        "command": ["./run", "--json", "-n", "9"],
        "cwd": str(clean_environment / "sub"),
        "nodes": 3,
        "gpus": 2,
        "priority": "VERY_HIGH",
        "group": "a100",
        "env": {"LR": "0.1", "NOTE": "a=b", "SEED": "7", "HAI_PROVIDE": "tf,mpi"},
        "ranks_per_node": 4,
        "profile": "slurm",
        "signal": "USR1@60",
        "grace_s": 120.0,
        "time_limit_s": 14_400.0,
        "checkpoint_dir": str(clean_environment / "sub/ckpt"),
        "watch": ["out/last.pt", "/scratch/x"],
        "secrets": ["HF_TOKEN", "~/.netrc=netrc"],
        "tags": ["t1", "t2"],
        "hold": True,
        "env_latest": False,
        "retry_backoff_s": 30.0,
        "retry_exit_codes": [1, 137],
        **asked.in_json(),
    }


def test_every_field_of_a_submission_has_an_option_or_another_way(hai: Hai, platform: Any) -> None:
    assert hai("submit", *asked_options(), "--gpus", "1", "--signal", "USR1", "--grace", "1s", "--time-limit", "1m",
               "--checkpoint-dir", "c", "--ranks-per-node", "2", "--", "true").code == 0  # fmt: skip
    # An image or environment is named by `--env`, and a snapshot is taken by `--snapshot`.
    others = {"environment", "snapshot", "take_snapshot"}
    assert {one.name for one in fields(TaskRequest)} - sent(platform).keys() == others, "give these an option"


def asked_options() -> list[str]:
    """Another value of each field that needs nothing but its definition, as options."""
    found = []
    for field in ASKED_FIELDS:
        value = asked.in_json()[field.name]
        found += [f"--{field.word}"] if field.kind == "flag" else [f"--{field.word}", f"{value}"]
    return found


@pytest.mark.parametrize("given", ["KILL", "USR1@", "USR1@soon", "10"])
def test_a_signal_that_is_none_of_those_is_refused_with_how_to_write_one(hai: Hai, given: str) -> None:
    result = hai("submit", "--signal", given, "--", "true")
    assert result.code == 2
    assert repr(given) in result.err
    assert "USR1@60" in result.err


@pytest.mark.parametrize(("word", "each"), [("gpu", "gpu"), ("GPUs", "gpu"), ("1", 1)])
def test_a_command_may_run_once_for_each_gpu(hai: Hai, platform: Any, word: str, each: object) -> None:
    assert hai("submit", "--ranks-per-node", word, "--", "true").code == 0
    assert sent(platform)["ranks_per_node"] == each


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks-per-node", "0"], "ranks-per-node: '0' is neither a whole number of 1 or more nor 'gpu'"),
        (["--ranks-per-node", "many"], "ranks-per-node: 'many' is neither"),
        (["--ranks-per-node", "0"], "write for example --ranks-per-node 4, or --ranks-per-node gpu"),
        (["--provide", "pmi"], "provide: 'pmi' is not known; it is one of tf, mpi"),
    ],
)
def test_what_cannot_be_started_so_is_named(hai: Hai, words: list[str], message: str) -> None:
    result = hai("submit", *words, "--", "true")
    assert (result.code, message in result.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["mpirun", "python", "train.py"], "sbatch --nodes=2 SCRIPT"),
        (["/opt/mpi/bin/mpiexec", "-n", "4", "./solve"], "sbatch --nodes=2 SCRIPT"),
        (["deepspeed", "train.py"], "--no_ssh --node_rank $HAI_RANK"),
    ],
)
def test_a_launcher_that_would_train_on_each_node_by_itself_is_refused(
    hai: Hai, platform: Any, words: list[str], remedy: str
) -> None:
    result = hai("submit", "--nodes", "2", "--", *words)
    assert (result.code, remedy in result.err) == (2, True)
    assert "would start on each of the 2 nodes" in result.err
    assert platform.said("POST", "/tasks") == []
    assert hai("submit", "--", *words).code == 0


def test_deepspeed_may_be_told_which_node_it_is_on(hai: Hai, platform: Any) -> None:
    assert hai("submit", "--nodes", "2", "--", "deepspeed", "--no_ssh", "--node_rank", "0", "train.py").code == 0


def test_whole_nodes_and_no_retries_are_what_is_asked_for_unasked(hai: Hai, platform: Any) -> None:
    assert hai("submit", "--", "true").code == 0
    body = sent(platform)
    assert "gpus" not in body
    assert "signal" not in body
    assert (body["profile"], body["watch"]) == ("auto", [])
    assert (body["retries"], body["retry_backoff_s"], body["retry_exit_codes"]) == (0, 0.0, [])


def test_the_dashes_may_be_left_out_when_the_options_come_first(hai: Hai, platform: Any) -> None:
    assert hai("submit", "-n", "2", "python", "-u", "train.py", "-n", "9").code == 0
    assert sent(platform)["command"] == ["python", "-u", "train.py", "-n", "9"]
    assert (sent(platform)["nodes"], sent(platform)["name"]) == (2, "train")


def test_the_folder_keeps_the_name_that_the_shell_has_for_it(
    hai: Hai, platform: Any, clean_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = clean_environment.parent / "link"
    link.symlink_to(clean_environment)
    monkeypatch.setenv("PWD", str(link))
    hai("submit", "--", "true")
    assert sent(platform)["cwd"] == str(link)


def test_a_stale_pwd_is_not_believed(
    hai: Hai, platform: Any, clean_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PWD", "/")
    hai("submit", "--", "true")
    assert sent(platform)["cwd"] == str(clean_environment)


def test_following_shows_the_log_and_says_how_it_ended(hai: Hai, platform: Any) -> None:
    result = hai("submit", "-f", "--", "python", "digits.py")
    assert result.out.splitlines()[1:] == ["one", "two", "three"]
    assert (result.code, result.err) == (0, "")
    platform.outcome = "failed"
    result = hai("submit", "-f", "--", "python", "digits.py")
    assert (result.code, result.err) == (1, "hai: digits failed: its command ended\n")


def test_following_ends_with_the_rank_that_failed_first(hai: Hai, platform: Any) -> None:
    failure = {"run": 1, "rank": 1, "node": "node-2", "exit_code": 127, "lines": ["no such command: torchrun"]}

    platform.outcome, platform.failure = "failed", failure
    result = hai("submit", "-f", "--", "torchrun", "train.py")
    first = "rank 1 on node-2 failed first, with status 127; its last lines (`hai logs -r 1 train` shows all):"
    assert result.out.splitlines()[1:] == ["one", "two", "three", f"[hai] {first}", "no such command: torchrun"]
    assert result.code == 1


def test_json_is_the_task_and_with_follow_the_task_at_its_end(hai: Hai, platform: Any) -> None:
    assert json.loads(hai("submit", "--json", "--", "true").out)["state"] == "queued"
    assert json.loads(hai("--json", "submit", "-f", "--", "true").out)["state"] == "succeeded"


@pytest.mark.parametrize(
    ("words", "env", "environment", "err"),
    [
        ("--env vision", {}, "vision", ""),
        ("--env=vision", {}, "vision", ""),
        ("--environment vision", {}, "vision", ""),
        ("--env vision --environment vision", {}, "vision", ""),
        ("--env A=1 --env B=x=y", {"A": "1", "B": "x=y"}, None, ""),
        ("--env A=1 -e A=2 --env vision", {"A": "2"}, "vision", ""),
        ("-e A=1 --env A=2", {"A": "2"}, None, ""),
        ("-e SEED", {"SEED": "7"}, None, ""),
        ("--env SEED", {}, "SEED", ""),
        ("--environments A=1", {"A": "1"}, None, ""),
    ],
)
def test_env_is_a_variable_with_its_value_and_else_an_environment(
    hai: Hai,
    platform: Any,
    clean_environment: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    env: dict[str, str],
    environment: str | None,
    err: str,
) -> None:
    """Docker and kubectl set variables by `--env NAME=VALUE`; without a value it names the environment."""
    monkeypatch.setenv("SEED", "7")
    result = hai("submit", *words.split(), "--", "true")
    assert (result.code, result.err) == (0, err)
    assert (sent(platform).get("env", {}), sent(platform).get("environment")) == (env, environment)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--env vision --env speech", "env: speech and vision are two environments; name one"),
        ("--environment speech --env vision", "env: vision and speech are two environments; name one"),
        ("--env A-B=1", "env: 'A-B=1' is not NAME=VALUE"),
        ("--env=", "env: '' is empty: give an environment (`hai environments` lists them) or NAME=VALUE, or leave"),
        ("-e vision", "env: vision is not set here; write -e vision=VALUE"),
        ("-e=", "env: '' is not NAME=VALUE; write for example -e LR=0.1"),
    ],
)
def test_what_env_cannot_mean_is_said(hai: Hai, clean_environment: Path, words: str, text: str) -> None:
    result = hai("submit", *words.split(), "--", "true")
    assert result.code == 2
    assert text in result.err


def test_a_state_is_said_once_when_a_task_starts_at_once(hai: Hai, platform: Any) -> None:
    def starts(call: Any) -> None:
        platform.tasks[41].update(state="starting", verdict=None, message="Starting on node-1.")

    platform.after = [lambda _rules: None, starts]
    assert hai("submit", "--", "true").out.splitlines()[0] == "true is task 41: starting on node-1"


def test_the_services_sentence_becomes_part_of_the_answer(hai: Hai, platform: Any) -> None:
    verdict = {"kind": "CAPACITY", "sentence": "Needs 2 nodes but 1 is free.", "position": 1, "data": {}}

    def waits(call: Any) -> None:
        platform.tasks[41].update(verdict=verdict, message=verdict["sentence"])

    platform.after = [lambda _rules: None, waits]
    assert (
        hai("submit", "--", "true").out.splitlines()[0]
        == "true is task 41: queued, position 1; needs 2 nodes but 1 is free"
    )
