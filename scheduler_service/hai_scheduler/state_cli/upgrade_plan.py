"""What an upgrade changes on one machine, what must be done first, and how to go back: from facts, without looking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from hai_client import skew
from hai_client.cli.shared.output import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The scheduler's database as it is found."""

    place: str  #: The path of the file, or the URL without its password.
    is_file: bool  #: SQLite's; else PostgreSQL's.
    revision: str | None = None  #: The revision of its tables; None: it has none yet, or cannot be read.
    problem: str | None = None  #: Why the installed code cannot use it, with the remedy; None: it can.
    #: Whether the code before cannot use the tables of the installed code.
    restore_to_go_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeFacts:
    """What is there: the platform of a state folder, and the code that is installed here."""

    installed: str  #: The version of the installed code.
    before: str | None  #: The version that runs, or has run last; None: nobody knows.
    runs: bool  #: Whether the platform runs.
    state_dir: Path
    database: Database
    newest: str  #: The revision of the installed code.
    revisions: Sequence[tuple[str, str]]  #: The revisions that the start would add, with what each does.
    live_runs: int  #: How many runs are live.
    config: Path | None  #: The configuration file of the scheduler service.
    unknown_settings: Sequence[str]  #: Settings in it that the installed code does not have.


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePlan:
    """An upgrade, in sentences and commands."""

    changes: Sequence[str]
    first: Sequence[str]  #: What must be done before the start of the installed code; empty: nothing.
    tasks: str  #: What becomes of the tasks.
    back: Sequence[str]  #: Commands, one after the other.


def plan_of(facts: UpgradeFacts) -> UpgradePlan:
    """Return the plan."""
    return UpgradePlan(changes=_changes(facts), first=_first(facts), tasks=_tasks(facts), back=_back(facts))


def _changes(facts: UpgradeFacts) -> list[str]:
    before = f"version {facts.before}" if facts.before else "a version that is not known"
    how = "which runs" if facts.runs else "which does not run"
    version = f"{before}, {how} -> {facts.installed}, which is installed here"
    if facts.before == facts.installed:
        version = f"version {facts.installed}, {how}: the installed one is the same"
    lines = [version]
    database = facts.database
    if database.problem is None and database.revision is None:
        lines.append(f"{database.place}: there is no database yet; the start makes it, of revision {facts.newest}")
    elif facts.revisions:
        lines.append(f"{database.place}: revision {database.revision} -> {facts.newest}, at the first start")
        lines += [f"  {number}  {text}" for number, text in facts.revisions]
    else:
        lines.append(f"{database.place}: revision {database.revision or 'not known'}; nothing is changed in it")
    return lines


def _first(facts: UpgradeFacts) -> list[str]:
    """Return what must be done first, as sentences with commands in them."""
    todo = [] if facts.database.problem is None else [facts.database.problem]
    if facts.unknown_settings:
        names = ", ".join(facts.unknown_settings)
        todo.append(f"take out of {facts.config} what version {facts.installed} does not have: {names}")
    if facts.live_runs and skew.judge(skew.SUPERVISOR, facts.before, facts.installed).state == skew.REFUSE:
        todo.append(
            f"stop {plural(facts.live_runs, 'live run')}: version {facts.installed} does not look after runs"
            f" of version {facts.before} (`hai admin pause`, then wait until `hai nodes` shows none)"
        )
    if facts.revisions:
        todo.append(f"copy the database: {_backup(facts)}")
    return todo


def _tasks(facts: UpgradeFacts) -> str:
    if not facts.live_runs:
        return "nothing runs; tasks that wait go on waiting"
    told = "when the platform is stopped they are told to save, and their tasks go on after the start"
    return f"{plural(facts.live_runs, 'live run')}: {told}"


def _kept(facts: UpgradeFacts) -> str:
    return f"hai-{facts.before or 'before'}.{'sqlite' if facts.database.is_file else 'sql'}"


def _backup(facts: UpgradeFacts) -> str:
    if facts.database.is_file:
        return f"hai backup --state-dir {quote(str(facts.state_dir))} {_kept(facts)}"
    return f"pg_dump --clean --if-exists --file {_kept(facts)} DATABASE"


def _back(facts: UpgradeFacts) -> list[str]:
    stop = ["stop the platform: Ctrl-C, or `systemctl stop hai`"]
    install = f"pip install 'hai-platform[up]=={facts.before or 'VERSION'}'"
    restore = []
    if facts.database.restore_to_go_back:
        restore = [f"psql --file {_kept(facts)} DATABASE"]
        if facts.database.is_file:
            restore = [f"hai restore --state-dir {quote(str(facts.state_dir))} {_kept(facts)}"]
    return [*stop, install, *restore, "start it as always: `hai up`, or `systemctl start hai`"]
