"""Why a rank has failed, by the end of its log: torchrun's own words are told apart from its workers'.

The texts in `torchrun/` are what torchrun of PyTorch 2.13 has printed with two workers of which rank 1 fails first;
only paths are shorter: `raised` (in a process group, which the other one then misses), `mixed_up` (the same; both had
ended when torchrun looked, and it takes rank 0 for the root cause), `recorded` (with `@record`), `killed` (SIGKILL) and
`told` (torchrun itself gets SIGTERM).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hai_scheduler.service.logs.last_words import COUNT, MOST_CHARACTERS, LastWords, last_words

TEXTS = {path.stem: path.read_text().split("\n") for path in (Path(__file__).parent / "torchrun").glob("*.txt")}

RAISED = (
    "Traceback (most recent call last):",
    '  File "/w/boom.py", line 9, in <module>',
    '    load("/data/train.bin")',
    '  File "/w/boom.py", line 7, in load',
    '    raise FileNotFoundError(f"no such file: {path}")',
    "FileNotFoundError: no such file: /data/train.bin",
)
MIXED_UP = (
    "Traceback (most recent call last):",
    '  File "/w/ddp_fails.py", line 28, in <module>',
    "    main()",
    '  File "/w/ddp_fails.py", line 22, in main',
    '    points = load_shard(int(os.environ["RANK"]))',
    "             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    '  File "/w/ddp_fails.py", line 15, in load_shard',
    '    raise ValueError(f"shard {rank} has no samples")',
    "ValueError: shard 1 has no samples",
)
RECORDED = (
    "Traceback (most recent call last):",
    '  File "/site/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 367, in wrapper',
    "    return f(*args, **kwargs)",
    "           ^^^^^^^^^^^^^^^^^^",
    '  File "/w/rec.py", line 7, in main',
    '    raise ValueError("bad shape (3, 4)")',
    "ValueError: bad shape (3, 4)",
)
TABLE = [
    ("raised", LastWords(lines=RAISED, worker="rank 1 (local_rank: 1), exitcode 1")),
    ("mixed_up", LastWords(lines=MIXED_UP, worker="rank 1 (local_rank: 1), exitcode 1")),
    ("recorded", LastWords(lines=RECORDED, worker="rank 1 (local_rank: 1), exitcode 1")),
    ("killed", LastWords(lines=("hello", "hello"), worker="rank 1 (local_rank: 1), exitcode -9 (SIGKILL)")),
    ("told", LastWords(lines=("hello", "hello"))),
]


def test_every_text_is_in_the_table() -> None:
    assert {name for name, _ in TABLE} == set(TEXTS)


@pytest.mark.parametrize(("name", "words"), TABLE, ids=[name for name, _ in TABLE])
def test_what_the_worker_said_is_shown_and_not_what_torchrun_makes_of_it(name: str, words: LastWords) -> None:
    assert last_words(TEXTS[name]) == words


def test_of_a_worker_that_was_killed_it_is_not_the_loss_that_another_one_met() -> None:
    killed = [line.replace("1 (pid: 8637)", "-9 (pid: 8637)") for line in TEXTS["mixed_up"]]
    words = last_words([line for line in killed if not line.startswith("[rank0]:")])
    assert words.worker == "rank 0 (local_rank: 0), exitcode -9"
    # It has said nothing: what the log ends with is shown.
    assert words.lines[-1] == "[rank1]: ValueError: shard 1 has no samples"


def test_a_traceback_of_a_worker_that_did_not_fail_is_not_taken_for_the_first() -> None:
    earlier = ["[rank2]: Traceback (most recent call last):", "[rank2]: OSError: tried again"]
    assert last_words([*earlier, *TEXTS["mixed_up"]]) == last_words(TEXTS["mixed_up"])


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_lines_that_are_printed_after_it_change_nothing(name: str) -> None:
    assert last_words([*TEXTS[name], "[hai] 3 lines were lost", ""]) == last_words(TEXTS[name])


@pytest.mark.parametrize(
    "logged",
    [
        "E0815 10:11:12.000000 140 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: 1)",
        "[2024-01-15 10:11:12,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1)",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: /p",
    ],
)
def test_the_log_lines_of_older_versions_are_known_as_well(logged: str) -> None:
    end = TEXTS["killed"].index("Traceback (most recent call last):")
    assert last_words(["loss 3.5", logged, *TEXTS["killed"][end:]]).lines == ("loss 3.5",)


def test_a_worker_that_said_nothing_is_told_of_by_the_summary() -> None:
    begin = TEXTS["killed"].index("Root Cause (first observed failure):")
    end = TEXTS["killed"].index("Traceback (most recent call last):")
    words = last_words(TEXTS["killed"][end:])
    assert words.worker == "rank 1 (local_rank: 1), exitcode -9 (SIGKILL)"
    assert "  traceback : Signal 9 (SIGKILL) received by PID 21616" in words.lines
    assert words.lines[-1] == TEXTS["killed"][begin:][-2]


def test_without_torchrun_the_last_lines_are_shown() -> None:
    lines = [f"line {n}" for n in range(100)]
    assert last_words([*lines, "", " "]).lines == tuple(lines[-COUNT:])
    assert last_words(lines, 3).lines == tuple(lines[-3:])
    assert last_words([]) == LastWords(lines=())


def test_who_only_speaks_of_it_is_not_torchrun() -> None:
    lines = ["caught a ChildFailedError: will retry", "ValueError: no data"]
    assert last_words(lines).lines == tuple(lines)


def test_a_long_line_is_cut() -> None:
    (line,) = last_words(["x" * 70_000]).lines
    assert (line[:MOST_CHARACTERS], len(line)) == ("x" * MOST_CHARACTERS, MOST_CHARACTERS + 4)
