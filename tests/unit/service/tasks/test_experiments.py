"""Experiment files of the original as submissions."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
import yaml

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Retry
from hai_scheduler.service.tasks.experiments import MAX_BYTES, InvalidExperiment, read_experiment

GOOD = {"version": 2, "name": "n", "spec": {"workspace": "/w", "entrypoint": "a.py"}}


def text_of(**changes: object) -> str:
    whole: dict[str, object] = {key: dict(value) if isinstance(value, dict) else value for key, value in GOOD.items()}
    for path, value in changes.items():
        section, _, key = path.partition("__")
        if key:
            part = whole.setdefault(section, {})
            assert isinstance(part, dict)
            part[key] = value
        else:
            whole[section] = value
    return yaml.safe_dump(whole)


def faults(text: str) -> dict[str, str]:
    with pytest.raises(InvalidExperiment) as caught:
        read_experiment(text)
    return {fault.field: fault.message for fault in caught.value.faults}


def test_a_full_file_is_read() -> None:
    submission = read_experiment("""
version: 2
name: full
priority: 40
spec:
  workspace: /w
  entrypoint: train.sh
  parameters: -a "b c" 'd'
  environments: {A: 1, B: 0123, C: yes, D: 1e3, E: "true", F: 2026-01-01}
resource: {group: gpu, node_count: 3, gpus: 2, ranks_per_node: gpu, image: torch, is_spot: false}
options:
  {tags: [x, 1], retries: 4, retry_backoff: 1m30s, retry_exit_codes: [1, 137], signal: USR1@60, watch: [o.pt, /x]}
services: []
""")
    assert submission.name == "full"
    assert submission.command == ("bash", "train.sh", "-a", "b c", "d")
    assert (submission.cwd, submission.group, submission.nodes) == ("/w", "gpu", 3)
    assert submission.priority is Priority.VERY_HIGH
    assert submission.env == {"A": "1", "B": "0123", "C": "yes", "D": "1e3", "E": "true", "F": "2026-01-01"}
    assert submission.tags == ("x", "1")
    assert (str(submission.signal), submission.watch) == ("USR1@60", ("o.pt", "/x"))
    assert (submission.gpus, submission.ranks_per_node, submission.environment) == (2, "gpu", "torch")
    assert submission.retry == Retry(count=4, backoff=timedelta(seconds=90), exit_codes=frozenset({1, 137}))


def test_a_file_that_says_nothing_of_them_takes_whole_nodes_and_no_retry() -> None:
    submission = read_experiment(text_of())
    assert (submission.nodes, submission.gpus, submission.retry) == (1, None, None)
    assert submission.environment is None
    assert read_experiment(text_of(resource__image=None)).environment is None
    assert read_experiment(text_of(options__retries=0)).retry is None


@pytest.mark.parametrize(
    ("entry", "executable", "command"),
    [
        ("a.py", False, ("python", "-u", "a.py")),
        ("a.sh", False, ("bash", "a.sh")),
        ("run", True, ("./run",)),
        ("bin/run", True, ("bin/run",)),
        ("/opt/run.py", True, ("/opt/run.py",)),
    ],
)
def test_the_entrypoint_says_how_it_is_started(entry, executable, command) -> None:
    text = text_of(spec__entrypoint=entry, spec__entrypoint_executable=executable)
    assert read_experiment(text).command == command


@pytest.mark.parametrize(
    ("given", "level"),
    [
        (None, Priority.NORMAL),
        (-1, None),
        ("AUTO", None),
        ("auto", None),
        (0, Priority.LOW),
        (20, Priority.ABOVE_NORMAL),
        (30, Priority.HIGH),
        (50, Priority.EXTREME_HIGH),
        ("HIGH", Priority.HIGH),
        ("high", Priority.HIGH),
    ],
)
def test_priorities_are_numbers_or_names(given, level) -> None:
    assert read_experiment(text_of(priority=given)).priority is level


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"version": 1}, "version", "must be 2"),
        ({"version": True}, "version", "must be 2"),
        ({"name": None}, "name", "is missing"),
        ({"name": ["a"]}, "name", "not a list"),
        ({"nmae": "x"}, "nmae", "did you mean 'name'"),
        ({"zzz": 1}, "zzz", "known are"),
        ({"priority": 25}, "priority", "HIGH (30)"),
        ({"priority": True}, "priority", "AUTO"),
        ({"resource": []}, "resource", "a mapping, not a list"),
        ({"spec__entrypoint": "a.out"}, "spec.entrypoint", "entrypoint_executable"),
        ({"spec__entrypoint_executable": "yes"}, "spec.entrypoint_executable", "true or false"),
        ({"spec__parameters": 'a "b'}, "spec.parameters", "close every quote"),
        ({"spec__parameters": {"a": 1}}, "spec.parameters", "list of texts"),
        ({"spec__parameters": ["a", None]}, "spec.parameters[1]", "in quotes"),
        ({"spec__environments": ["A=1"]}, "spec.environments", "mapping"),
        ({"spec__environments": {"A": True}}, "spec.environments.A", "in quotes"),
        ({"spec__git_remote_repo": "git@x"}, "spec.git_remote_repo", "check it out"),
        ({"resource__node_count": 0}, "resource.node_count", "1 or more"),
        ({"resource__node_count": 1.5}, "resource.node_count", "whole number"),
        ({"resource__node_count": "two"}, "resource.node_count", "whole number"),
        ({"resource__group": "a#B"}, "resource.group", "'a'"),
        ({"resource__image": ["x"]}, "resource.image", "must be a text, not a list"),
        ({"resource__gpu": 8}, "resource.gpu", "resource.gpus"),
        ({"resource__gpus": 0}, "resource.gpus", "1 or more"),
        ({"resource__ranks_per_node": 0}, "resource.ranks_per_node", "1 "),
        ({"resource__ranks_per_node": 1025}, "resource.ranks_per_node", "1024"),
        ({"resource__ranks_per_node": "all"}, "resource.ranks_per_node", "whole number"),
        ({"resource__gpus": "two"}, "resource.gpus", "whole number"),
        ({"options__retries": 101}, "options.retries", "from 0 to 100"),
        ({"options__retries": True}, "options.retries", "whole number"),
        ({"options__retries": 1, "options__retry_backoff": "soon"}, "options.retry_backoff", "30s"),
        ({"options__retries": 1, "options__retry_backoff": [1]}, "options.retry_backoff", "30s"),
        ({"options__retries": 1, "options__retry_exit_codes": 1}, "options.retry_exit_codes", "list"),
        ({"options__retries": 1, "options__retry_exit_codes": [1, 0]}, "options.retry_exit_codes[1]", "1 to 255"),
        ({"options__retry_backoff": "30s"}, "options.retry_backoff", "set options.retries"),
        ({"options__retry_exit_codes": [1]}, "options.retry_exit_codes", "set options.retries"),
        ({"resource__is_spot": True}, "resource.is_spot", "leave it out"),
        ({"options__signal": "KILL"}, "options.signal", "USR1@60"),
        ({"options__watch": ["a", True]}, "options.watch[1]", "in quotes"),
        ({"options__tags": "x"}, "options.tags", "list"),
        ({"options__py_venv": "x"}, "options.py_venv", "interpreter"),
        ({"options__timeout": 60}, "options.timeout", "time limit"),
        ({"options__whole_life_state": 1}, "options.whole_life_state", "job.set_state"),
        ({"services": [{"name": "x"}]}, "services", "entrypoint"),
    ],
)
def test_a_fault_is_named_with_its_path_and_the_remedy(changes, path, said) -> None:
    found = faults(text_of(**changes))
    assert said in found[path]
    assert list(found) == [path]


def test_all_faults_are_found_at_once() -> None:
    found = faults("version: 3\nspec: {entrypoint: a.x}\nresource: {gpu: 1, node_count: no}\n")
    assert found.keys() == {
        "version",
        "name",
        "spec.workspace",
        "spec.entrypoint",
        "resource.gpu",
        "resource.node_count",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1",
        "a: [",
        "a: 1\na: 2",
        "? [1]\n: 2",
        "a: \x00",
        "--- 1\n--- 2",
        "!!python/object:os.system x",
        "!!timestamp x",
        "!!bool x",
        "!!int x",
        "!!binary x",
        "*x",
        "%YAML 9.9\n---\n",
        "[" * 20_000,
        "{a: " * 10_000,
        "x" * (MAX_BYTES + 1),
        "name: &a [*a]",
        "1: 2",
        "null: 2",
        "<<: {version: 2}",
    ],
)
def test_what_is_no_experiment_is_refused_and_nothing_else_happens(text) -> None:
    assert faults(text)


def test_many_aliases_do_not_make_a_large_answer() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    began = time.monotonic()
    found = faults("a0: &a0 [x]\n" + "\n".join(levels))
    assert len(str(found)) < 10_000
    assert time.monotonic() - began < 5
