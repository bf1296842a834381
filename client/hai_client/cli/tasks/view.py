"""Formats tasks for the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from hai_client.backports import UTC
from hai_client.cli.language.asked_fields import ASKED_FIELDS
from hai_client.cli.language.catalogue import heading, is_english, label, label_in, say, say_in
from hai_client.cli.language.words import ago, duration, files, size, state_word
from hai_client.cli.language.words import runs as counted_runs
from hai_client.cli.shared.output import (
    STATE_STYLES,
    Cell,
    Column,
    Output,
    clean,
    columns_of,
    local,
    local_times,
    wrapped,
)
from hai_client.cli.tasks import failing, used
from hai_client.constants import ENDED_STATES
from hai_client.quantity import amount
from hai_client.wire.schema import (
    CodeSnapshot,
    Haienv,
    Holder,
    Rank,
    Run,
    Task,
    TaskProgress,
    TaskSummary,
    Verdict,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hai_client.wire.explain import ForecastCost

_LABEL = 12
#: Fields with more words than their definition has.
_SHOWN = frozenset({"retries"})
#: By how a run has left: the words for it and their colour.
_SAVED: Mapping[str, tuple[Callable[[], str], str | None]] = {
    "saved": (lambda: say("yes"), None),
    "unknown": (lambda: say_in("saved or not", "unknown"), "yellow"),
    "ended": (lambda: say("no"), "red"),
}
#: Reasons for the end of a run that are failures.
_BROKEN = frozenset({"failed", "node_lost", "start_failed", "supervisor_killed"})
#: Reasons for the end of a task: nothing is resumed, and nothing counted as lost.
_FOR_GOOD = frozenset({"user_stopped", "owner_archived", "time_limit"})
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
#: Words that YAML does not read as text.
_AMBIGUOUS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def idle(task: TaskSummary) -> str | None:
    """Return a word on GPUs of a task that do nothing; None: they work."""
    return None if task.idle_gpus_since is None else say("GPUs idle since %1", local(task.idle_gpus_since))


def state(task: TaskSummary) -> str:
    """Return the state of a task in one or two words."""
    word = state_word(task.state)
    return say("%1, held", word) if task.held and task.state not in ENDED_STATES else word


def standing(state: str, sentence: str) -> str:
    """Return the words after a task's name: `is queued: Needs 2 nodes`, `has failed: its command failed`.

    Args:
        state: The state, in one or two words.
        sentence: The service's sentence; it begins with the state if the task does not wait.
    """
    verb = "has" if state in ("succeeded", "failed") else "is"
    if sentence.lower().startswith(state):
        return f"{verb} {state}{sentence[len(state) :]}"
    return f"{verb} {state}" + (f": {sentence}" if sentence else "")


def told_of(subject: str, state: str, sentence: str) -> str:
    """Return a sentence on a task: `task 41 is queued: Needs 2 nodes`.

    Args:
        subject: The words for the task.
        state: Its state, in one or two words.
        sentence: It in the user's language; it may begin with the state.
    """
    if is_english():
        return f"{subject} {standing(state, sentence)}"
    if not sentence or sentence.startswith(state):
        return say("%1: %2", subject, sentence or state)
    return say("%1, %2: %3", subject, state, sentence)


def priority(task: TaskSummary) -> str:
    """Return the effective priority of a task, and the requested one if it differs."""
    counts = task.effective_priority or task.priority
    return counts if counts == task.priority else f"{counts} ({task.priority.lower()})"


def _processes(task: Task) -> str:
    each = task.ranks_per_node
    if each is None:
        return ""
    return say(", a process for each GPU") if each == "gpu" else say(", %1 processes on each node", each)


def named(task_id: int, name: str) -> str:
    """Return the name and id of a task; the name of another user's task is empty."""
    return say("%1 (task %2)", name, task_id) if name else say("task %1", task_id)


def holder(task: Holder | ForecastCost) -> str:
    """Return a task that holds nodes, and its priority: `llm (task 7) of bob at HIGH`."""
    return say("%1 of %2 at %3", named(task.task_id, task.name), task.user, task.priority)


def now(task: TaskSummary) -> str:
    """Return the text in the last column of a list of tasks: where the task runs, why it waits, or how it ended."""
    if task.node_names and task.state not in ENDED_STATES:
        where = " ".join([*([] if task.progress is None else [f"{progress(task.progress)};"]), *task.node_names])
        leaves = None
        if task.deadline is not None:
            over = task.deadline < datetime.now(UTC)
            leaves = say("its time is over") if over else say("leaves by %1", local(task.deadline)[11:])
        return "; ".join(filter(None, [where, leaves, idle(task)]))
    if task.verdict is not None and task.state not in ENDED_STATES:
        place = f"#{task.verdict.position}: " if task.verdict.position is not None else ""
        return place + (local_times(task.message if task.short is None else task.short.text))
    idle_ = idle(task)
    return local_times(task.message) + (f" ({idle_})" if idle_ else "")


def progress(found: TaskProgress) -> str:
    """Return how far a job has come: `step 1,200 of 10,000, about 2h left`."""
    step = f"{found.step:,}"
    done = say("step %1", step) if found.total is None else say("step %1 of %2", step, f"{found.total:,}")
    return done if found.left_s is None else say("%1, about %2 left", done, duration(found.left_s))


def screen(out: Output, task: Task) -> None:
    """Write all facts of a task."""
    colored = out.style(state(task), STATE_STYLES.get(task.state))
    if task.node_names and task.state not in ENDED_STATES:
        colored = say("%1 on %2", colored, " ".join(map(clean, task.node_names)))
    title = say("%1, task %2 of %3", out.style(clean(task.name), "bold"), task.id, clean(task.user))
    out.line(say("%1: %2", title, colored))
    verdict_ = task.verdict if task.state not in ENDED_STATES else None
    if task.message and not (verdict_ and verdict_.sentence == task.message):
        write_sentence(out, task.message)
    if idle_ := idle(task):
        write_sentence(out, say("%1; `hai top %2` shows its ranks", idle_, task.name), style="yellow")
    if task.hint:
        write_sentence(out, task.hint, style="yellow")
    out.line()
    if verdict_ is not None:
        verdict(out, verdict_, local_times(verdict_.sentence))
    facts(out, _facts(task))
    if task.runs:
        out.line()
        runs(out, task)
        facts(out, used.lines(task.runs))
    if task.failure is not None:
        out.line()
        failing.write(out, task, task.failure)


def _facts(task: Task) -> Iterator[tuple[str, str]]:
    if task.deadline is not None:
        yield label("Leaves by"), _at(task.deadline)
    asked = say_in("nodes of a group", "%1 of %2 at %3", size(task.nodes, task.gpus), task.group, priority(task))
    yield label_in("task", "Asked for"), asked + _processes(task)
    yield label("Submitted"), _at(task.submitted_at)
    if task.ended_at is not None:
        yield label("Ended"), _at(task.ended_at)
    if task.served_s:
        limit = f" {say('of %1', duration(task.time_limit_s))}" if task.time_limit_s else ""
        yield label("Ran"), say_in("runs", "%1 in %2", duration(task.served_s) + limit, counted_runs(task.run_count))
    elif task.time_limit_s:
        yield label("Time limit"), duration(task.time_limit_s)
    if task.progress is not None:
        yield label("Progress"), say("%1 (said %2)", progress(task.progress), ago(task.progress.at))
    if task.retries:
        yield label("Retries"), _retries(task)
    yield label("Checkpoint"), _checkpoint(task)
    if task.signal:
        yield label("Signal"), task.signal
    if task.job_state:
        yield label("Its state"), task.job_state
    yield from _asked_facts(task)
    yield from _command_facts(task)


def _asked_facts(task: Task) -> Iterator[tuple[str, str]]:
    """Yield the fields that are shown by their definition alone, where they say something."""
    for field in ASKED_FIELDS:
        value = getattr(task, field.name)
        if field.name not in _SHOWN and value != field.default:
            yield field.label(), field.text(value)


def _command_facts(task: Task) -> Iterator[tuple[str, str]]:
    """Yield what the task executes, and in what."""
    yield label("Command"), _command(task.command)
    yield label_in("folder", "In"), task.cwd
    if task.secrets:
        yield label("Secrets"), ", ".join(task.secrets)
    if task.environment:
        # Without a digest the name counts at each start.
        yield label("Image"), f"{task.environment} ({task.image})" if task.image else task.environment
    if task.haienv is not None:
        yield label("Environment"), environment(task.haienv)
    if task.snapshot is not None:
        yield label("Snapshot"), snapshot(task.snapshot)
    if task.tags:
        yield label("Tags"), " ".join(task.tags)


def _at(time: datetime) -> str:
    return f"{local(time)} ({ago(time)})"


def snapshot(code: CodeSnapshot) -> str:
    """Return a snapshot of code in one line: `1a2b3c4d5e6f (812 files, 1.2 MB; commit 9f8e7d6c, with changes)`."""
    git = ""
    if code.commit is not None:
        short_ = code.commit[:12]
        git = "; " + (say("commit %1, with changes", short_) if code.dirty else say("commit %1", short_))
    return f"{code.digest[:12]} ({files(code.files)}, {amount(code.size)}{git})"


def environment(haienv: Haienv) -> str:
    """Return an environment of haienv in one line: `users/ann/vision@3 (sha256:1234abcd...)`."""
    generation = f"{haienv.name}@{haienv.generation} ({haienv.digest[:19]}...)"
    return say("%1; each run takes the newest", generation) if haienv.latest else generation


def _retries(task: Task) -> str:
    codes = say(" for status %1", ", ".join(map(str, task.retry_exit_codes))) if task.retry_exit_codes else ""
    after = say(", the next at %1", _at(task.retry_at)) if task.retry_at else ""
    return f"{say('%1 of %2 used', task.retries_used, task.retries)}{codes}{after}"


def _checkpoint(task: Task) -> str:
    saved = task.checkpoint
    if saved is None:
        places = ", ".join([task.checkpoint_dir, *task.watch])
        ended = task.state in ENDED_STATES
        return say("none was seen in %1", places) if ended else say("none yet (expected in %1)", places)
    path = saved.path or task.checkpoint_dir
    seen = saved.source == "seen"
    text = say("seen %1 in %2", ago(saved.at), path) if seen else say("saved %1 in %2", ago(saved.at), path)
    return text if saved.step is None else say("%1, %2", say("step %1", saved.step), text)


def _command(words: tuple[str, ...]) -> str:
    import shlex

    from hai_client.cli.tasks.batch_script import batch_script

    return batch_script(words) or shlex.join(words)


def verdict(out: Output, found: Verdict, sentence: str | None) -> None:
    """Write the reason why a task waits.

    Args:
        out: Where to write.
        found: The verdict.
        sentence: It in the user's language; None: it was said already.
    """
    if sentence is not None:
        _fact(out, label("Waits"), sentence)
    if found.position is not None:
        _fact(out, label("Position"), str(found.position))
    if found.earliest_start is not None:
        start = found.earliest_start
        soon = start <= datetime.now(UTC)
        when = say("any moment") if soon else say("%1 at the earliest (%2)", local(start), ago(start))
        _fact(out, label("Can start"), when)
    for one in found.holders:
        _fact(out, label("Held by"), say("%1: %2", holder(one), size(one.nodes, one.gpus)))


def runs(out: Output, task: Task) -> None:
    """Write the runs of a task as a table."""
    columns = [Column(heading("Run"), right=True), Column(heading("Started")), Column(heading("Lasted"))]
    columns += [Column(heading("Ended")), Column(heading("Saved")), Column(heading("Lost")), Column(heading("Nodes"))]
    named_ = any(run.haienv is not None for run in task.runs)
    columns += [Column(heading("Environment"))] if named_ else []
    rows = [[*_run_row(run), *([_generation(run)] if named_ else [])] for run in task.runs]
    out.table(columns, rows)


def _generation(run: Run) -> str:
    return "-" if run.haienv is None else f"{run.haienv.name}@{run.haienv.generation}"


def _run_row(run: Run) -> list[Cell | str]:
    until = run.ended_at or datetime.now(UTC)
    ended = state_word(run.state) if run.state != "ended" else _why(run) or say_in("run", "ended")
    codes = sorted({rank.exit_code for rank in run.ranks if rank.exit_code and rank.rank in run.failed_ranks})
    if run.reason == "failed" and codes:
        ended = say("%1 (status %2)", ended, ", ".join(map(str, codes)))
    saved, color = _SAVED.get(run.left or "", (lambda: "-", None))
    return [
        str(run.number),
        local(run.started_at),
        duration((until - run.started_at).total_seconds()),
        Cell(ended, "red" if run.reason in _BROKEN else None),
        Cell(saved(), color),
        _lost(run),
        " ".join(_place(rank) for rank in run.ranks) or " ".join(run.nodes),
    ]


def _why(run: Run) -> str | None:
    """Return why a run ended: in English, whose columns are narrow, in a word."""
    why = run.reason or (run.notice.reason if run.notice else None)
    return why.replace("_", " ") if why and is_english() else run.because


def _lost(run: Run) -> str:
    """Return how long the work took that was lost; `unknown` where the job may have saved without being seen."""
    if run.lost_s is None and run.left in ("unknown", "ended") and run.reason not in _FOR_GOOD:
        return say_in("saved or not", "unknown")
    return duration(run.lost_s) if run.lost_s else "-"


def _place(rank: Rank) -> str:
    """Return the node of a rank, with its GPUs if the rank shares the node: `node-1[0,3]`."""
    return f"{rank.node}[{','.join(map(str, rank.gpus))}]" if rank.gpus else rank.node


def write_sentence(out: Output, text: str, *, style: str | None = None) -> None:
    """Write a sentence of the service with its times in local time, wrapped to the terminal."""
    text = clean(local_times(text))
    for line in wrapped(text, out.width) if out.width else [text]:
        out.line(out.style(line, style))


def facts(out: Output, found: Iterable[tuple[str, str]]) -> None:
    """Write labels and their texts."""
    for name, text in found:
        _fact(out, name, text)


def _fact(out: Output, name: str, text: str) -> None:
    text = clean(text)
    lines = wrapped(text, out.width - _LABEL - 2) if out.width and out.width > _LABEL + 20 else [text]
    padding = " " * (_LABEL - columns_of(name))
    out.line(f"  {out.style(name + padding, 'dim')}{lines[0]}")
    for line in lines[1:]:
        out.line(" " * (_LABEL + 2) + line)


def yaml_lines(values: Mapping[str, Any], *, indent: int = 0) -> Iterator[str]:
    """Return plain data as lines of YAML, without empty values."""
    for key, value in values.items():
        if value is None or value in ([], {}):
            continue
        start = " " * indent + f"{_scalar(key)}:"
        if isinstance(value, dict):
            yield start
            yield from yaml_lines(value, indent=indent + 2)
        elif isinstance(value, list):
            yield f"{start} [{', '.join(_scalar(item) for item in value)}]"
        else:
            yield f"{start} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _AMBIGUOUS:
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    # A JSON scalar is a YAML scalar.
    return json.dumps(value, ensure_ascii=not isinstance(value, str) or not value.isprintable())
