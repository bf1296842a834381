"""Formats tasks for the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from hai_client.backports import UTC
from hai_client.cli.language import told, verdicts
from hai_client.cli.shared.output import (
    STATE_STYLES,
    Cell,
    Column,
    Output,
    ago,
    clean,
    local,
    local_times,
    plural,
    wrapped,
)
from hai_client.cli.tasks import failing, used
from hai_client.constants import ENDED_STATES
from hai_client.durations import format_duration
from hai_client.snapshots.amounts import amount
from hai_client.wire.schema import (
    CodeSnapshot,
    Haienv,
    Rank,
    Run,
    ShortWait,
    Task,
    TaskProgress,
    TaskSummary,
    Verdict,
)

_LABEL = 12
#: By how a run has left: the words for it and their colour.
_SAVED: dict[str, tuple[str, str | None]] = {
    "saved": ("yes", None),
    "unknown": ("unknown", "yellow"),
    "ended": ("no", "red"),
}
#: Reasons for the end of a run that are failures.
_BROKEN = frozenset({"failed", "node_lost", "start_failed", "supervisor_killed"})
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
#: Words that YAML does not read as text.
_AMBIGUOUS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def idle(task: TaskSummary) -> str | None:
    """Return a word on GPUs of a task that do nothing; None: they work."""
    return None if task.idle_gpus_since is None else f"GPUs idle since {local(task.idle_gpus_since)}"


def state(task: TaskSummary) -> str:
    """Return the state of a task in one or two words."""
    return f"{task.state}, held" if task.held and task.state not in ENDED_STATES else task.state


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


def priority(task: TaskSummary) -> str:
    """Return the effective priority of a task, and the requested one if it differs."""
    counts = task.effective_priority or task.priority
    return counts if counts == task.priority else f"{counts} ({task.priority.lower()})"


def _processes(task: Task) -> str:
    each = task.ranks_per_node
    return "" if each is None else ", a process for each GPU" if each == "gpu" else f", {each} processes on each node"


def size(nodes: int, gpus: int | None) -> str:
    """Return the size of a task: `2 nodes`, `1 node x 2 GPUs`."""
    whole = plural(nodes, "node")
    return whole if gpus is None else f"{whole} x {plural(gpus, 'GPU')}"


def named(task_id: int, name: str) -> str:
    """Return the name and id of a task; the name of another user's task is empty."""
    return f"{name} (task {task_id})" if name else f"task {task_id}"


def now(task: TaskSummary) -> str:
    """Return the text in the last column of a list of tasks: where the task runs, why it waits, or how it ended."""
    if task.node_names and task.state not in ENDED_STATES:
        where = " ".join([*([] if task.progress is None else [f"{progress(task.progress)};"]), *task.node_names])
        leaves = f"leaves by {local(task.deadline)[11:]}" if task.deadline else None
        return "; ".join(filter(None, [where, leaves, idle(task)]))
    if task.verdict is not None and task.state not in ENDED_STATES:
        place = f"#{task.verdict.position}: " if task.verdict.position is not None else ""
        return place + (short(task.short) if task.short is not None else verdicts.waits(task))
    idle_ = idle(task)
    return told.message(task) + (f" ({idle_})" if idle_ else "")


def short(wait: ShortWait) -> str:
    """Return why a task waits in a few words, with its time in the time zone of the reader."""
    said = verdicts.short(wait)
    if said is not None:
        return said
    words, about, _ = wait.text.rpartition(", about ")
    if wait.until is None or not about:
        return wait.text
    shown, today = local(wait.until)[:-3], local(datetime.now(UTC))[:10]
    return f"{words}{about}{shown[11:] if shown.startswith(today) else shown}"


def progress(found: TaskProgress) -> str:
    """Return how far a job has come: `step 1,200 of 10,000, about 2h left`."""
    of = "" if found.total is None else f" of {found.total:,}"
    left = "" if found.left_s is None else f", about {format_duration(found.left_s)} left"
    return f"step {found.step:,}{of}{left}"


def screen(out: Output, task: Task) -> None:
    """Write all facts of a task."""
    colored = out.style(state(task), STATE_STYLES.get(task.state))
    where = f" on {' '.join(map(clean, task.node_names))}" if task.node_names and task.state not in ENDED_STATES else ""
    out.line(f"{out.style(clean(task.name), 'bold')}, task {task.id} of {clean(task.user)}: {colored}{where}")
    verdict_ = task.verdict if task.state not in ENDED_STATES else None
    if task.message and not (verdict_ and verdict_.sentence == task.message):
        write_sentence(out, told.message(task))
    if idle_ := idle(task):
        write_sentence(out, f"{idle_}; `hai top {task.name}` shows its ranks", style="yellow")
    if task.hint:
        write_sentence(out, task.hint, style="yellow")
    out.line()
    if verdict_ is not None:
        verdict(out, verdict_, verdicts.waits(task))
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
        yield "leaves by", f"{local(task.deadline)} ({ago(task.deadline)})"
    yield "asked for", f"{size(task.nodes, task.gpus)} of {task.group} at {priority(task)}{_processes(task)}"
    yield "submitted", f"{local(task.submitted_at)} ({ago(task.submitted_at)})"
    if task.ended_at is not None:
        yield "ended", f"{local(task.ended_at)} ({ago(task.ended_at)})"
    if task.served_s:
        limit = f" of {format_duration(task.time_limit_s)}" if task.time_limit_s else ""
        yield "ran", f"{format_duration(task.served_s)}{limit} in {plural(task.run_count, 'run')}"
    elif task.time_limit_s:
        yield "time limit", format_duration(task.time_limit_s)
    if task.progress is not None:
        yield "progress", f"{progress(task.progress)} (said {ago(task.progress.at)})"
    if task.retries:
        yield "retries", _retries(task)
    yield "checkpoint", _checkpoint(task)
    if task.signal:
        yield "signal", task.signal
    if task.job_state:
        yield "its state", task.job_state
    yield from _command_facts(task)


def _command_facts(task: Task) -> Iterator[tuple[str, str]]:
    """Yield what the task executes, and in what."""
    yield "command", _command(task.command)
    yield "in", task.cwd
    if task.environment:
        # Without a digest the name counts at each start.
        yield "image", f"{task.environment} ({task.image})" if task.image else task.environment
    if task.haienv is not None:
        yield "environment", environment(task.haienv)
    if task.snapshot is not None:
        yield "snapshot", snapshot(task.snapshot)
    if task.tags:
        yield "tags", " ".join(task.tags)


def snapshot(code: CodeSnapshot) -> str:
    """Return a snapshot of code in one line: `1a2b3c4d5e6f (812 files, 1.2 MB; commit 9f8e7d6c, with changes)`."""
    git = "" if code.commit is None else f"; commit {code.commit[:12]}{', with changes' if code.dirty else ''}"
    return f"{code.digest[:12]} ({code.files} file{'' if code.files == 1 else 's'}, {amount(code.size)}{git})"


def environment(haienv: Haienv) -> str:
    """Return an environment of haienv in one line: `users/ann/vision@3 (sha256:1234abcd...)`."""
    generation = f"{haienv.name}@{haienv.generation} ({haienv.digest[:19]}...)"
    return f"{generation}; each run takes the newest" if haienv.latest else generation


def _retries(task: Task) -> str:
    codes = f" for status {', '.join(map(str, task.retry_exit_codes))}" if task.retry_exit_codes else ""
    after = f", the next at {local(task.retry_at)} ({ago(task.retry_at)})" if task.retry_at else ""
    return f"{task.retries_used} of {task.retries} used{codes}{after}"


def _checkpoint(task: Task) -> str:
    saved = task.checkpoint
    if saved is None:
        return f"none yet (expected in {', '.join([task.checkpoint_dir, *task.watch])})"
    step = f"step {saved.step}, " if saved.step is not None else ""
    verb = "seen" if saved.source == "seen" else "saved"
    return f"{step}{verb} {ago(saved.at)} in {saved.path or task.checkpoint_dir}"


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
        _fact(out, "waits", sentence)
    if found.position is not None:
        _fact(out, "position", str(found.position))
    if found.earliest_start is not None:
        _fact(out, "can start", f"{local(found.earliest_start)} at the earliest ({ago(found.earliest_start)})")
    for holder in found.holders:
        what = f"{named(holder.task_id, holder.name)} of {holder.user} at {holder.priority}"
        _fact(out, "held by", f"{what}: {size(holder.nodes, holder.gpus)}")


def runs(out: Output, task: Task) -> None:
    """Write the runs of a task as a table."""
    columns = [Column("RUN", right=True), Column("STARTED"), Column("LASTED"), Column("ENDED"), Column("SAVED")]
    columns += [Column("LOST"), Column("NODES")]
    named_ = any(run.haienv is not None for run in task.runs)
    columns += [Column("ENVIRONMENT")] if named_ else []
    rows = [[*_run_row(run), *([_generation(run)] if named_ else [])] for run in task.runs]
    out.table(columns, rows)


def _generation(run: Run) -> str:
    return "-" if run.haienv is None else f"{run.haienv.name}@{run.haienv.generation}"


def _run_row(run: Run) -> list[Cell | str]:
    until = run.ended_at or datetime.now(UTC)
    why = run.reason or (run.notice.reason if run.notice else None)
    ended = (why or "ended") if run.state == "ended" else run.state
    codes = sorted({rank.exit_code for rank in run.ranks if rank.exit_code and rank.rank in run.failed_ranks})
    if run.reason == "failed" and codes:
        ended += f" (status {', '.join(map(str, codes))})"
    saved, color = _SAVED.get(run.left or "", ("-", None))
    return [
        str(run.number),
        local(run.started_at),
        format_duration((until - run.started_at).total_seconds()),
        Cell(ended.replace("_", " "), "red" if run.reason in _BROKEN else None),
        Cell(saved, color),
        format_duration(run.lost_s) if run.lost_s else "-",
        " ".join(_place(rank) for rank in run.ranks) or " ".join(run.nodes),
    ]


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
    for label, text in found:
        _fact(out, label, text)


def _fact(out: Output, label: str, text: str) -> None:
    text = clean(text)
    lines = wrapped(text, out.width - _LABEL - 2) if out.width and out.width > _LABEL + 20 else [text]
    out.line(f"  {out.style(f'{label:<{_LABEL}}', 'dim')}{lines[0]}")
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
