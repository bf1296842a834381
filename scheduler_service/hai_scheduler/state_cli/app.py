"""The options of `hai backup` and `hai restore`, and what they print."""

from __future__ import annotations

import argparse
import asyncio
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.output import Output
from hai_client.cli.shared.parser import Command, build, option
from hai_client.errors import Invalid
from hai_client.settings import folder_here
from hai_scheduler.adapters.local.look import RunSeen, look
from hai_scheduler.adapters.local.marks import Marks
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.lineage import Superseded
from hai_scheduler.service.origin.belonging import is_own
from hai_scheduler.service.origin.lineage import begin_epoch, parts_of
from hai_scheduler.state_cli.files import alone, copy_database, replace_database
from hai_scheduler.store.store import open_store

#: How many orphaned runs are printed one by one.
_SHOWN: Final = 100


def run_backup(argv: Sequence[str]) -> int:
    """Copy the database, also while the platform runs. Returns the exit status. Raises Invalid."""
    return run(BACKUP, argv)


def run_restore(argv: Sequence[str]) -> int:
    """Restore the database from a copy, and print which runs it knows. Returns the exit status. Raises Invalid."""
    return run(RESTORE, argv)


def run(command: Command, argv: Sequence[str]) -> int:
    """Run a verb with these arguments, and return the exit status."""
    args = build(command).parse_args(argv)
    context = Context(Output.of_process(), json=getattr(args, "json", False), url=getattr(args, "url", None))
    return command.run(args, context) or 0


def configure_state_dir(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the state folder."""
    option(
        parser,
        "--state-dir DIR",
        "the folder of `hai up` (default: that of the platform that `hai` speaks to, else $XDG_STATE_HOME/hai)",
        Path,
    )


def _configure_backup(parser: argparse.ArgumentParser) -> None:
    configure_state_dir(parser)
    option(parser, "file FILE", "the file to write; it must not exist yet", Path)


def _configure_restore(parser: argparse.ArgumentParser) -> None:
    configure_state_dir(parser)
    option(parser, "file FILE", "a copy that `hai backup`, or SQLite's own backup, has written", Path)


def _backup(args: argparse.Namespace, ctx: Context) -> None:
    copy_database(state_dir_of(args) / "hai.sqlite", args.file)
    if ctx.answered({"file": str(args.file)}):
        return
    ctx.out.line(f"{args.file} holds the scheduler's database as of {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
    ctx.out.line("users and tokens are in jupyterhub.sqlite; logs, checkpoints and homes are plain files")


def _restore(args: argparse.Namespace, ctx: Context) -> None:
    state_dir = state_dir_of(args).resolve()
    place, draft = state_dir / "hai.sqlite", state_dir / f".hai.sqlite.{uuid.uuid4().hex}"
    with alone(state_dir):
        try:
            copy_database(args.file, draft)
            # Every step that can fail works on the copy.
            restored = asyncio.run(_begin(draft, state_dir / "runs"))
            replaced = replace_database(place, draft)
        finally:
            for left in state_dir.glob(f"{draft.name}*"):
                left.unlink()
    if ctx.answered({"database": str(place), "replaced": replaced and str(replaced), **restored.facts()}):
        return
    ctx.out.line(f"{place} is restored from {args.file}; its epoch {restored.mark.epoch} begins")
    if replaced is not None:
        ctx.out.line(f"the database that was there is kept as {replaced}")
    for line in restored.lines():
        ctx.out.line(line)
    ctx.out.line("start the platform as always")


BACKUP: Final = Command(
    name="backup",
    configure=_configure_backup,
    run=_backup,
    about="Copy the scheduler's database of this machine to a file; the platform may go on meanwhile.",
)
RESTORE: Final = Command(
    name="restore",
    configure=_configure_restore,
    run=_restore,
    about=(
        "Put a copy of the scheduler's database in the place of the present one, which is kept beside it.\n"
        "The platform must be stopped; runs may go on. No id is given again: a new epoch of the database begins."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result of a restore: which runs on the cluster the database knows."""

    mark: Mark
    first_task: int
    known: Sequence[RunSeen]
    orphans: Sequence[RunSeen]

    def lines(self) -> list[str]:
        """Return the result as lines for a terminal."""
        live = sum(run.live for run in self.known)
        lines = [
            f"new tasks have ids from {self.first_task} on",
            f"runs that the database knows: {len(self.known)}, {live} of them live; they stay what they are",
            f"orphaned runs, which it does not know: {len(self.orphans)}",
        ]
        lines += [self._line(run) for run in self.orphans[:_SHOWN]]
        if len(self.orphans) > _SHOWN:
            lines.append(f"  and {len(self.orphans) - _SHOWN} more")
        if any(run.live for run in self.orphans):
            lines.append(
                "live ones are left alone, and their nodes are not used until they have ended: `hai admin orphans list`"
            )
        return lines

    def facts(self) -> dict[str, Any]:
        """Return the result as values for JSON."""
        return {
            "epoch": self.mark.epoch,
            "first_task": self.first_task,
            "known": [run.run_id for run in self.known],
            "orphans": [
                {"run": run.run_id, "user": run.user, "nodes": list(run.nodes), "live": run.live}
                for run in self.orphans
            ],
        }

    @staticmethod
    def _line(run: RunSeen) -> str:
        task, number = parts_of(run.run_id)
        state = "live" if run.live else "ended"
        place = run.path if run.live else f"{run.path.parents[1]}/.aside/{run.origin or 'unmarked'}/{task}/{number}"
        return (
            f"  run {run.run_id} of {run.user or 'unknown user'} on {', '.join(run.nodes)}: {state}, log below {place}"
        )


async def _begin(database: Path, runs_dir: Path) -> Restored:
    """Upgrade the tables if necessary, begin a new epoch, and write its mark to the cluster. Raises Invalid."""
    store = await open_store(f"sqlite:///{database}")
    try:
        marks, seen = Marks(runs_dir), look(runs_dir)
        async with store.write() as tx:
            origins = await tx.runs.origins({TaskId(parts_of(one.run_id)[0]) for one in seen})
            mark = await begin_epoch(tx, marks.all(), [run.run_id for run in seen], datetime.now(UTC))
            past = await tx.database.lost_past()
        marks.put(mark)
    except (Temporary, Superseded, OSError) as error:
        raise Invalid(f"nothing was restored: {error}") from None
    finally:
        # The last connection writes the write-ahead log back into the file, and removes it.
        await store.close()
    own = [is_own(run.run_id, run.origin, origins) for run in seen]
    return Restored(
        mark=mark,
        first_task=past.first_task,
        known=[run for run, mine in zip(seen, own, strict=True) if mine],
        orphans=[run for run, mine in zip(seen, own, strict=True) if not mine],
    )


def state_dir_of(args: argparse.Namespace) -> Path:
    """Return the state folder that is meant."""
    if args.state_dir is not None:
        return Path(args.state_dir)
    if kept := folder_here("state_dir", os.environ):
        return Path(kept)
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "state") / "hai"
