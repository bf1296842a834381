"""The in-job API: notices, checkpoints and reports, for training code inside a task.

    from hai_client import job

    for step in range(first, last):
        train(step)
        job.report(step, total=last)
        if job.should_suspend():
            save(step)
            job.suspended(step=step)

The platform gives a job time to save before it takes its nodes; `suspended` reports that the job has saved, and ends
the process. The platform starts the same command again later, with the same `checkpoint_dir`. Outside the platform
everything here is harmless: `should_suspend` is False. `hai rehearse -- python train.py` tries all of it on the user's
own machine.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, NoReturn

from hai_client import checkpoints
from hai_client.agreement import Agreements
from hai_client.checkpoints import Checkpoint
from hai_client.reporting import Reporter
from hai_client.whole_files import write_whole

#: Shortest time between two looks for the notice, seconds.
LOOK_EVERY_S = 0.05
MAX_STATE = 4096
#: torchrun's own default.
DEFAULT_PORT = 29500
#: How long to wait for ranks that called `should_suspend` before and have stopped calling it: seconds, and the largest
#: part of the time to the deadline. The rest of that time is for saving.
AGREE_S, AGREE_PART = 60.0, 0.5


@dataclass(frozen=True)
class Notice:
    """A notice: this task must leave its nodes."""

    kind: Literal["suspend", "stop"]  #: `suspend` (it will be resumed) or `stop`.
    reason: str  #: A name for the reason, for example `turn_over` or `preempted`.
    message: str  #: The reason as a sentence.
    beneficiary: int | None  #: The task that the nodes are freed for, if any.
    at: datetime
    deadline: datetime  #: The platform ends what is left of the job at this time.

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, (self.deadline - datetime.now(timezone.utc)).total_seconds())


class Job:
    """The task that this process belongs to, as its environment describes it."""

    def __init__(self, environ: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic) -> None:
        #: Whether this process runs in a task at all.
        self.inside = "HAI_TASK_ID" in environ and "HAI_RUNTIME_DIR" in environ
        self.task_id = int(environ.get("HAI_TASK_ID") or 0)
        self.name = environ.get("HAI_TASK_NAME", "")
        #: Number of the run, from 1.
        self.run = int(environ.get("HAI_RUN") or 1)
        #: This node's place among the task's nodes; 0 is the master.
        self.rank = int(environ.get("HAI_RANK") or 0)
        #: How many nodes the task has.
        self.nodes = int(environ.get("HAI_NODES") or 1)
        #: How often the task was started before this run.
        self.restarts = int(environ.get("HAI_RESTARTS") or 0)
        #: The folder for checkpoints: the same in every run of the task.
        self.checkpoint_dir = Path(environ.get("HAI_CHECKPOINT_DIR") or "checkpoints")
        #: Names of the nodes in rank order.
        self.node_list = tuple((environ.get("HAI_NODE_LIST") or "localhost").replace(",", " ").split())
        #: Address and free port of rank 0.
        self.master = (environ.get("MASTER_ADDR", "127.0.0.1"), int(environ.get("MASTER_PORT") or DEFAULT_PORT))
        self._runtime = Path(environ.get("HAI_RUNTIME_DIR", "."))
        self._local = (int(environ.get("LOCAL_RANK") or 0), int(environ.get("LOCAL_WORLD_SIZE") or 1))
        self._signals = [signal.SIGTERM] + ([signal.SIGUSR1] if "SLURM_RESTART_COUNT" in environ else [])
        self._clock = clock
        self._state: str | None = environ.get("HAI_STATE") or None
        self._told = False
        self._looked_at = float("-inf")
        self._listening = False
        self._reports = 0
        self._agreements = Agreements()
        self._alive_at = clock()
        self._watchdog: Any = None
        #: Takes progress and numbers.
        self.reporter = Reporter(
            self._runtime / "progress" if self.inside else None, self._local[0], alive=self.alive, clock=clock
        )
        if self.inside:
            os.register_at_fork(after_in_child=self._agreements.after_fork)

    @property
    def state(self) -> str | None:
        """The text that `set_state` has kept, in this run or an earlier one; None if there is none."""
        if self._state is not None and self.restarts > 0:
            self._mark("state-read", "")
        return self._state

    def should_suspend(self, agree: Callable[[bool], bool] | None = None) -> bool:
        """Return whether the job must save and leave. The call is cheap enough for every step.

        The first call inside a task also installs a handler for SIGTERM, unless the program has a handler of its own:
        from then on the signal only makes this function return True.

        Where torch.distributed is initialised, the ranks that call this function agree by themselves: it returns True
        in the same call of each rank, counted from the rank's first call, two or three calls after the notice. The
        agreement is no collective, so code that calls this function on some ranks only goes on as before. Ranks that
        call it should all call it once a step. When a rank stops calling it, the others wait for that rank for half of
        the time to the deadline, and a minute at most. A call costs a query to the store of torch.distributed.

        Args:
            agree: Replaces that agreement: combines the answers of all ranks, so that all leave at the same step, for
                example `lambda flag: bool(comm.allreduce(int(flag), op=MAX))`. Every rank must make as many calls.
        """
        self._alive_at = max(self._alive_at, self._clock())
        told = self._is_told()
        if agree is not None:
            return bool(agree(told))
        agreement = self._agreements.current() if self.inside else None
        if agreement is None:
            return told
        try:
            return agreement.leave(told, self._patience())
        except (RuntimeError, OSError):
            # The store ended with the rank that kept it: each rank decides alone then.
            return told

    def _patience(self) -> float:
        notice = self.notice()
        return AGREE_S if notice is None else min(AGREE_S, AGREE_PART * notice.seconds_left)

    def _is_told(self) -> bool:
        now = self._clock()
        if not self.inside:
            return False
        if not self._listening:
            self._listen()
        if not self._told and now - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = now
            self._told = self._notice_file.exists()
        return self._told

    def _listen(self) -> None:
        self._listening = True
        # The supervisor, and a notebook's runner, see by this file that the job will leave by itself.
        _try_write(self._runtime / "polling", "")
        if threading.current_thread() is not threading.main_thread():
            return
        taken = [number for number in self._signals if signal.getsignal(number) is signal.SIG_DFL]
        for number in taken:
            signal.signal(number, self._on_signal)
        _spare_children(taken, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        self._told = True

    @property
    def _notice_file(self) -> Path:
        return self._runtime / "notice.json"

    def notice(self) -> Notice | None:
        """Return the current notice, with its latest deadline; None if there is none."""
        if not self.inside:
            return None
        try:
            data = json.loads(self._notice_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return Notice(
            kind=data["kind"],
            reason=data["reason"],
            message=data["message"],
            beneficiary=data.get("beneficiary"),
            at=_time(data["at"]),
            deadline=_time(data["deadline"]),
        )

    def saving(self, seconds: float) -> None:
        """Ask for at least `seconds` more seconds to save. The platform grants them up to the node group's maximum."""
        if not 0 <= seconds <= 86_400:
            raise ValueError(f"seconds is {seconds}; it must be between 0 and 86400")
        self._alive_at = max(self._alive_at, self._clock() + seconds)
        self._say("saving", seconds=seconds)

    def saved(self, step: int | None = None, path: str | os.PathLike[str] | None = None) -> None:
        """Tell the platform that a checkpoint exists: the training until now counts as saved.

        Args:
            step: The step of the checkpoint.
            path: The file or folder of the checkpoint.
        """
        self.alive()
        self._say("saved", step=step, path=None if path is None else os.fspath(path))

    def suspended(
        self,
        step: int | None = None,
        path: str | os.PathLike[str] | None = None,
        *,
        all_ranks: bool = False,
    ) -> NoReturn:
        """Report that this rank has saved and may be ended, and leave the process with status 0 (SystemExit).

        Call this in the main thread. Where several workers run on a node, each calls it, and the node is free after
        the last call.

        Args:
            step: The step of the checkpoint; None if `saved` has reported it before.
            path: The file or folder of the checkpoint.
            all_ranks: Whether the report is for every rank: the platform then ends the other ranks at once.
        """
        if step is not None or path is not None:
            self.saved(step, path)
        self._say("done", all_ranks=all_ranks or None, local_rank=self._local[0], local_size=self._local[1])
        raise SystemExit(0)

    def set_state(self, text: str) -> None:
        """Keep a short text for this task; `state` returns it, in later runs too.

        Args:
            text: At most 4096 characters.

        Raises:
            ValueError: The text is longer.
        """
        if len(text) > MAX_STATE:
            raise ValueError(f"the state has {len(text)} characters; at most {MAX_STATE} are kept")
        self._state = text
        self._say("state", text=text)

    @contextlib.contextmanager
    def checkpoint(self, step: int, *, keep: int | None = 2) -> Iterator[Path]:
        """Write a checkpoint into a folder that exists complete or not at all; then report it to the platform.

            with job.checkpoint(step) as folder:
                torch.save(model.state_dict(), folder / "model.pt")

        The folder becomes `checkpoint_dir/step-<number>` when the block has ended and the folder is on the disk; an
        error in the block leaves nothing. Of several ranks one writes, or each has a `checkpoint_dir` of its own.

        Args:
            step: The step of the checkpoint.
            keep: How many checkpoints stay; older ones are removed. None: all stay.

        Raises:
            ValueError: A number is wrong.
            OSError: The checkpoint cannot be written.
        """
        writer = f"rank{self.rank}-{self._local[0]}"
        with checkpoints.writing(self.checkpoint_dir, step, keep=keep, writer=writer) as folder:
            yield folder
        self.saved(step, self.checkpoint_dir / f"step-{step:08d}")

    def last_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint that `checkpoint` has written, with `step` and `path`; None if there is none."""
        found = checkpoints.found(self.checkpoint_dir)
        if not found:
            return None
        self._restored(found[0].step, found[0].path)
        return found[0]

    def alive(self) -> None:
        """Tell `watchdog` that there is progress. `should_suspend`, `report`, `saved` and `saving` do so too."""
        self._alive_at = max(self._alive_at, self._clock())

    def watchdog(self, seconds: float) -> None:
        """End this process, inside a task, when it makes no progress for `seconds`. A later call replaces the limit.

        Before the end the stack of each thread is printed; the exit status is 79. Choose more than the longest step,
        evaluation or save takes. The watchdog cannot end code that never releases Python's global lock (GIL).

        Args:
            seconds: How long there may be no progress, seconds; 0 switches the watchdog off.
        """
        if not 0 <= seconds < math.inf:
            raise ValueError(f"seconds is {seconds}; it must be 0 or more")
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None
        if not self.inside or seconds == 0:
            return
        from hai_client.watchdog import Watchdog

        self._alive_at = max(self._alive_at, self._clock())
        self._watchdog = Watchdog(seconds, lambda: self._alive_at, self._clock)
        self._watchdog.start()

    def _restored(self, step: int | None, path: Path) -> None:
        """Leave a word for a rehearsal on what this run goes on from."""
        at = datetime.now(timezone.utc).isoformat()
        self._mark("restored.json", json.dumps({"at": at, "step": step, "path": str(path)}))

    def _mark(self, name: str, text: str) -> None:
        if self.inside:
            _try_write(self._runtime / name, text)

    def _say(self, kind: str, **fields: Any) -> None:
        """Leave a report for the supervisor. Training goes on if that is impossible."""
        if not self.inside:
            return
        self._reports += 1
        name = f"{time.time_ns():020d}-{os.getpid()}-{self._reports:06d}.json"
        report = {"kind": kind, "at": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")}
        report.update({field: value for field, value in fields.items() if value is not None})
        error = _try_write(self._runtime / "reports" / name, json.dumps(report))
        if error is not None:
            print(f"hai: the platform could not be told {kind!r}: {error.strerror}", file=sys.stderr)


def _spare_children(numbers: list[signal.Signals], handler: Callable[..., None]) -> None:
    """Let forked children die of the signals again: worker pools end their processes with SIGTERM.

    The signals are held back during the fork, because Python drops those that come just after it.
    """
    masks: list[set[signal.Signals | int]] = []

    def before() -> None:
        masks.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, numbers)))

    def in_parent() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.pop())

    def in_child() -> None:
        for number in numbers:
            if signal.getsignal(number) == handler:
                signal.signal(number, signal.SIG_DFL)
        in_parent()

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)


def _time(text: str) -> datetime:
    """Read a time as the platform writes it. Python before 3.11 does not know what Z means."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _try_write(path: Path, text: str) -> OSError | None:
    """Write a file complete or not at all; return the error if it cannot be written."""
    try:
        write_whole(path, text, mode=0o666)
    except OSError as error:
        return error
    return None


_job = Job(os.environ)

inside = _job.inside
task_id = _job.task_id
name = _job.name
run = _job.run
rank = _job.rank
nodes = _job.nodes
restarts = _job.restarts
checkpoint_dir = _job.checkpoint_dir
node_list = _job.node_list
master = _job.master
#: Changes with `set_state`, so it is read from the job each time.
state: str | None
should_suspend = _job.should_suspend
notice = _job.notice
saving = _job.saving
saved = _job.saved
suspended = _job.suspended
set_state = _job.set_state
checkpoint = _job.checkpoint
last_checkpoint = _job.last_checkpoint
alive = _job.alive
report = _job.reporter.report
progress = _job.reporter.progress
watchdog = _job.watchdog


def __getattr__(attribute: str) -> Any:
    if attribute == "state":
        return _job.state
    raise AttributeError(f"module 'hai_client.job' has no attribute {attribute!r}")
