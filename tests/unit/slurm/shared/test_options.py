"""What `srun` and `sbatch` take, leave out and refuse."""

from __future__ import annotations

import pytest

from hai_slurm.shared.getting import BadOption
from hai_slurm.shared.options import BOTH, IGNORED, OPTIONS, REFUSED, SBATCH, SRUN, USED, read


@pytest.mark.parametrize(
    ("line", "given", "rest"),
    [
        ("-N2 -n 4 a b", {"nodes": "2", "ntasks": "4"}, ["a", "b"]),
        ("--nodes=2 --ntasks 4 a -n 9", {"nodes": "2", "ntasks": "4"}, ["a", "-n", "9"]),
        ("-lK0 a", {"label": "", "kill-on-bad-exit": "0"}, ["a"]),
        ("-lK a", {"label": "", "kill-on-bad-exit": ""}, ["a"]),
        ("--kill-on-bad-exit=0 a", {"kill-on-bad-exit": "0"}, ["a"]),
        ("--kill-on-bad-exit 0 a", {"kill-on-bad-exit": ""}, ["0", "a"]),
        ("--ntasks-per-n 2 a", {"ntasks-per-node": "2"}, ["a"]),
        ("-- -a", {}, ["-a"]),
        ("--unbuffered -u a", {}, ["a"]),
        ("-o x.%t -e y a", {"output": "x.%t", "error": "y"}, ["a"]),
    ],
)
def test_options_end_where_the_command_begins(line: str, given: dict[str, str], rest: list[str]) -> None:
    found = read(line.split(), SRUN)
    assert (found.given, found.rest) == (given, rest)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--frobnicate a", "--frobnicate: not an option"),
        ("-Y a", "-Y: not an option"),
        ("--nodes", "--nodes: a value is missing"),
        ("-n", "-n: a value is missing"),
        ("--pty bash", "--pty: a task has no terminal"),
        ("--=3", "not an option"),
    ],
)
def test_what_cannot_be_read_is_named(line: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        read(line.split(), SRUN)


@pytest.mark.parametrize("option", [each for each in OPTIONS if each.fate == REFUSED], ids=lambda each: each.name)
def test_what_would_make_another_job_of_it_is_refused_with_a_remedy(option) -> None:
    where = SBATCH if option.where == BOTH else option.where
    words = [f"--{option.name}=x"] if option.value == "yes" else [f"--{option.name}"]
    with pytest.raises(BadOption) as refused:
        read([*words, "a"], where, at="line 3: ")
    assert str(refused.value).startswith(f"line 3: --{option.name}")
    assert option.about in str(refused.value)


@pytest.mark.parametrize("option", [each for each in OPTIONS if each.fate == IGNORED], ids=lambda each: each.name)
def test_what_is_left_out_is_named_once(option) -> None:
    where = SBATCH if option.where == BOTH else option.where
    words = [f"--{option.name}=x"] if option.value == "yes" else [f"--{option.name}"]
    found = read([*words, "a"], where)
    assert (found.given, found.rest) == ({}, ["a"])
    assert [option.about in note for note in found.notes] == ([True] if option.about else [])


def test_every_option_is_in_the_table_once_for_each_command() -> None:
    for where in (SBATCH, SRUN):
        names = [option.name for option in OPTIONS if option.where in (where, BOTH)]
        letters = [option.short for option in OPTIONS if option.where in (where, BOTH) and option.short]
        assert len(set(names)) == len(names)
        assert len(set(letters)) == len(letters)
    assert {option.fate for option in OPTIONS} == {USED, IGNORED, REFUSED}


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_numbers_are_whole_and_positive(text: str) -> None:
    with pytest.raises(BadOption, match="--nodes="):
        read([f"--nodes={text}", "a"], SRUN).number("nodes")


@pytest.mark.parametrize("word", ["--input=none", "--mpi=none", "--cpu-bind=none"])
def test_what_launchers_of_mpi_switch_off_needs_no_line(word: str) -> None:
    assert read([word, "prted"], SRUN).notes == []
