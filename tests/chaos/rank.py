"""What a task of the chaos run executes on each rank: it records what it does, and trusts only its own records.

    python rank.py RECORDS KEY SHAPE STEPS SECONDS

`RECORDS` lies outside of the platform's state folder. There this rank has

- a journal `ranks/TASK.RUN.RANK.jsonl`, which is made once: a rank that finds it there was started twice;
- the lock `slots/NODE` of its node: the kernel drops it when the process dies, so a rank that finds it held is the
  second one there.

A line of the journal is one write, and the page cache outlives the process: what was written stays after any kill.
The standard library and `hai_client.job`, which training images have too, are all it needs.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

#: Variables that a rank needs; a process without an environment gets them as arguments.
NAMES = ("HAI_TASK_ID", "HAI_RUN", "HAI_RANK", "HAI_NODES", "HAI_NODE_NAME", "HAI_CHECKPOINT_DIR")
#: Steps after which a `periodic` or `deaf` rank saves.
SAVE_EVERY = 3
#: Shapes that go on where they saved.
SAVING = frozenset({"saves", "cooperative", "periodic", "deaf"})
#: Seconds after which a `naked` rank drops its environment: a supervisor that looks now and then has not seen the new
#: process before.
DRESSED_S = 0.5


class Journal:
    """The journal of this rank."""

    def __init__(self, records: Path, who: dict[str, str]) -> None:
        name = ".".join((who["HAI_TASK_ID"], who["HAI_RUN"], who["HAI_RANK"]))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        folder = records / "ranks"
        try:
            self._file = os.open(folder / f"{name}.jsonl", flags, 0o644)
        except FileExistsError:
            self._file = os.open(folder / f"{name}.again.{os.getpid()}.jsonl", flags, 0o644)

    def write(self, what: str, **more: Any) -> None:
        """Add a line that says what happened, and when in seconds since the epoch."""
        os.write(self._file, (json.dumps({"what": what, "t": time.time(), **more}) + "\n").encode())


class Slot:
    """The lock of the node of this rank."""

    def __init__(self, records: Path, node: str, name: str, journal: Journal) -> None:
        self._file = os.open(records / "slots" / node, os.O_RDWR | os.O_CREAT, 0o644)
        self._name, self._journal = name, journal
        self._told = self._held = False

    def take(self) -> None:
        """Try to take the lock; if another process holds it, record that once. A later call tries again."""
        if self._held:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not self._told:
                self._told = True
                self._journal.write("slot taken", by=os.pread(self._file, 200, 0).decode(errors="replace"))
            return
        self._held = True
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, self._name.encode(), 0)


class Checkpoint:
    """A checkpoint in the folder that the platform gives: the number of steps that are done."""

    def __init__(self, folder: Path, rank: str, journal: Journal) -> None:
        self._file = folder / f"rank-{rank}.json"
        self._journal = journal

    def load(self) -> int:
        """The number of steps that were saved, which need not be done again."""
        try:
            return int(json.loads(self._file.read_text())["steps"])
        except FileNotFoundError:
            return 0

    def save(self, steps: int) -> None:
        """Replace the file in one step, so that a kill in the middle leaves the last checkpoint."""
        self._journal.write("saving", step=steps)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        draft = self._file.with_suffix(f".tmp{os.getpid()}")
        draft.write_text(json.dumps({"steps": steps}))
        draft.replace(self._file)
        self._journal.write("saved", step=steps)


def main(words: list[str], who: dict[str, str]) -> int:
    """Do the steps of a task; returns the exit status."""
    records, key, shape, steps, seconds = Path(words[0]), words[1], words[2], int(words[3]), float(words[4])
    if shape == "naked":
        return _undress(words, who)
    told: list[str] = []
    if shape == "saves":
        signal.signal(signal.SIGTERM, lambda *_: told.append("SIGTERM"))
    elif shape == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    journal = Journal(records, who)
    run, rank = int(who["HAI_RUN"]), int(who["HAI_RANK"])
    name = f"{who['HAI_TASK_ID']}.{run}.{rank}"
    journal.write(
        "start", key=key, shape=shape, steps=steps, task=int(who["HAI_TASK_ID"]), run=run, rank=rank,
        ranks=int(who["HAI_NODES"]), node=who["HAI_NODE_NAME"], pid=os.getpid(),
    )  # fmt: skip
    slot = Slot(records, who["HAI_NODE_NAME"], name, journal)
    slot.take()
    checkpoint = Checkpoint(Path(who["HAI_CHECKPOINT_DIR"]), who["HAI_RANK"], journal)
    first = checkpoint.load() if shape in SAVING else 0
    journal.write("from", step=first)

    for step in range(first + 1, steps + 1):
        time.sleep(seconds)
        slot.take()
        print(f"{name} step {step}", flush=True)
        journal.write("step", step=step)
        if shape in ("periodic", "deaf") and step % SAVE_EVERY == 0:
            checkpoint.save(step)
        if step < steps and (told or (shape == "cooperative" and _asked_to_leave())):
            return _leave(step, shape, checkpoint, journal)
    if shape in SAVING:
        checkpoint.save(steps)
    journal.write("finished", told=bool(told))
    return 0


def _asked_to_leave() -> bool:
    from hai_client import job

    return job.should_suspend()


def _leave(step: int, shape: str, checkpoint: Checkpoint, journal: Journal) -> int:
    checkpoint.save(step)
    journal.write("left", step=step)
    if shape == "cooperative":
        from hai_client import job

        job.suspended(step=step)
    return 0


def _undress(words: list[str], who: dict[str, str]) -> int:
    """Do the work in a process of another session without an environment, such as sudo, su and setproctitle make."""
    time.sleep(DRESSED_S)
    alive, held = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork():  # a search for the children of this command does not find the process that works
            os._exit(0)
        os.set_inheritable(held, True)
        known = [f"{name}={value}" for name, value in who.items()]
        work = [words[0], words[1], "plain", *words[3:5]]
        os.execve(sys.executable, [sys.executable, "-S", __file__, *work, *known], {})
    os.close(held)
    os.wait()
    os.read(alive, 1)  # the pipe ends when no process holds its other end any more
    name = ".".join((who["HAI_TASK_ID"], who["HAI_RUN"], who["HAI_RANK"]))
    journal = Path(words[0]) / "ranks" / f"{name}.jsonl"
    return 0 if '"finished"' in journal.read_text() else 1


if __name__ == "__main__":
    given = dict(word.split("=", 1) for word in sys.argv[6:])
    sys.exit(main(sys.argv[1:6], given or {name: os.environ[name] for name in NAMES}))
