"""Writes the report of a rehearsal in sentences."""

from __future__ import annotations

import os
from pathlib import Path

from hai_client.constants import PROFILES
from hai_client.durations import format_duration
from hai_client.rehearsal.facts import SENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from hai_client.rehearsal.facts import First, RehearsalFacts, Second, SeenCheckpoint


def lines(facts: RehearsalFacts) -> Iterator[tuple[str, str]]:
    """Return the observed facts, each as a label and a sentence."""
    first = facts.first
    if not first.told:
        yield "notice", f"none: the command ended by itself after {_s(first.before_s)}, {_status(first.exit_code)}"
        return
    yield "noticed", _noticed(facts)
    yield "saved", _saved(first)
    yield "left", _left(facts)
    if facts.second is not None:
        yield "resumed", _resumed(facts.second)
        yield "then", _then(facts.second)
    yield "lost", _lost(facts)
    for note in facts.notes:
        yield "note", note
    for profile, sentence in otherwise(facts).items():
        yield f"--profile {profile}", sentence


def verdict(facts: RehearsalFacts) -> str:
    """Return the last line of the report."""
    if not facts.first.told:
        return "nothing was rehearsed: give a shorter --after, or more to do"
    if facts.nothing_lost:
        return "nothing would be lost"
    if facts.left == "saved" and facts.second is not None:
        if facts.second.exit_code not in (None, 0):
            return "it saved, but could not go on from there: its work would be lost"
        return "it saved, but was not seen to go on from there: do not rely on it yet"
    return "work would be lost at every interruption"


def as_data(facts: RehearsalFacts) -> dict[str, Any]:
    """Return the report as data for `--json`. Seconds are rounded to milliseconds."""
    first, second = facts.first, facts.second
    found: dict[str, Any] = {
        "command": list(facts.command),
        "profile": facts.profile,
        "grace_s": facts.grace_s,
        "nothing_lost": facts.nothing_lost,
        "verdict": verdict(facts),
        "left": facts.left,
        "lost_s": facts.lost_s,
        "first": {**vars(first), "last": _data(first.last), "saved": _data(first.saved)},
        "second": None if second is None else vars(second),
        "otherwise": otherwise(facts) if first.told else {},
        "notes": list(facts.notes),
    }
    rounded: dict[str, Any] = _rounded(found)
    return rounded


def otherwise(facts: RehearsalFacts) -> dict[str, str]:
    """Return what each other profile would have done, as far as the observed facts tell."""
    return {name: _under(name, facts.first) for name in PROFILES if name not in (facts.profile, "auto")}


def _under(profile: str, first: First) -> str:
    catches = SENT.get(profile) in first.handlers
    if profile == "cooperative":
        if first.polls:
            return "it would be told without a signal, which is enough: it calls job.should_suspend"
        return f"it would notice nothing, as it never asks, and be ended at the deadline: {_gone(first)}"
    if profile == "kill":
        return f"it would be ended at once, without a notice: {_gone(first)}"
    name = f"SIG{SENT[profile]}"
    if first.polls:
        return f"its job.should_suspend would take {name} for the notice"
    if catches:
        return f"its handler of {name} would run"
    if profile == "slurm":
        return f"it would go on for a while, so that it may save by itself, unless it handles {name} under Slurm"
    return f"{name} would end it at once, as it has no handler: {_gone(first)}"


def _gone(first: First) -> str:
    if first.last is None:
        return "all of its work would be lost, since no checkpoint was seen before the notice"
    return f"what it did since {_name(first.last)}, {_s(-first.last.at_s)} before the notice, would be lost"


def _noticed(facts: RehearsalFacts) -> str:
    first = facts.first
    if facts.profile == "kill":
        return "nothing: the profile kill gives no notice"
    if first.polls:
        return "yes: it calls job.should_suspend" + (", and has left by itself" if first.said_done else "")
    if first.caught:
        names = " and ".join(f"SIG{name}" for name in first.handlers if name != "INT")
        return f"yes: it caught the signal (it has a handler of {names})" if names else "yes: it caught the signal"
    if first.said_done:
        return "yes: it said that it may go"
    if first.caught is None:
        return "no: it was sent no signal, and does not call job.should_suspend"
    return "no: it has no handler of the signal, and does not call job.should_suspend"


def _saved(first: First) -> str:
    torn = "" if first.cut is None else f"; {_short(first.cut)} was being written when it was ended, and may be torn"
    if first.saved is not None:
        how = "as it said itself" if first.saved.source == "told" else "as its file shows"
        return f"{_name(first.saved)}, {_s(first.saved.at_s)} after the notice, {how}{torn}"
    if first.last is None:
        return f"nothing was seen (does it save elsewhere? name that with --watch PATH){torn}"
    return f"nothing after the notice; {_name(first.last)} is of {_s(-first.last.at_s)} before it{torn}"


def _left(facts: RehearsalFacts) -> str:
    first = facts.first
    if facts.profile == "kill":
        return "it was ended at once"
    if first.ended:
        return f"it did not leave: it was ended at its deadline, {_s(first.leave_s)} after the notice"
    how = (
        "by itself" if first.polls or first.caught or first.said_done or first.exit_code == 0 else "ended by the signal"
    )
    return f"{_s(first.leave_s)} after the notice, {how}, {_status(first.exit_code)}; its grace was {_s(facts.grace_s)}"


def _resumed(second: Second) -> str:
    if second.how is None:
        return "unknown: the second run was not seen to read anything that the first one had saved"
    step = "" if second.step is None else f" at step {second.step}"
    when = "" if second.after_s is None else f", {_s(second.after_s)} after its start"
    if second.how == "state":
        return f"the second run read job.state, which the first one had kept{when}"
    what = "its checkpoint" if second.path is None else _short(second.path)
    if second.how == "told":
        return f"from {what}{step}{when}, as it said itself"
    return f"the second run read {what}{when}"


def _then(second: Second) -> str:
    if second.exit_code is None:
        return f"it went on; after {_s(second.seconds)} it was ended, since that is enough"
    return f"it ended by itself after {_s(second.seconds)}, {_status(second.exit_code)}"


def _lost(facts: RehearsalFacts) -> str:
    lost, second = facts.lost_s or 0.0, facts.second
    if second is not None and second.exit_code not in (None, 0):
        return "the second run failed: whatever was saved did not help it"
    if lost == 0:
        return "nothing" if facts.nothing_lost else "nothing, if it goes on from what it saved"
    since = "its start" if facts.first.last is None and facts.first.saved is None else "its last checkpoint"
    return f"{_s(lost)} of work on each node: all since {since}"


def _status(code: int | None) -> str:
    return "with no status" if code is None else f"with status {code}"


def _name(checkpoint: SeenCheckpoint) -> str:
    step = "" if checkpoint.step is None else f" of step {checkpoint.step}"
    return f"a checkpoint{step}" if checkpoint.path is None else f"{_short(checkpoint.path)}{step}"


def _short(path: str) -> str:
    here = str(Path.cwd()) + os.sep
    return path[len(here) :] if path.startswith(here) else path


def _s(seconds: float) -> str:
    return format_duration(seconds) if seconds >= 60 else f"{seconds:.1f} s"


def _data(checkpoint: SeenCheckpoint | None) -> dict[str, Any] | None:
    return None if checkpoint is None else dict(vars(checkpoint))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, (list, tuple)) else value
