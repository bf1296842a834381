"""The task that this process belongs to, in the original's words."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from hai_client import job

#: Seconds between two lines that say that a task which may be ended is still there.
SAY_EVERY_S = 60.0
#: The original's rehearsal: it is switched on by the first, and the second says after how many seconds to interrupt.
SIMULATE, SIMULATE_AFTER = "HFAI_SIMULATE", "SIMULATE_SUSPEND"

_began = time.monotonic()
_said: set[str] = set()


def simulated() -> bool:
    """Return whether this is a rehearsal on one machine, without a platform."""
    return not job.inside and (os.environ.get(SIMULATE) == "1" or bool(os.environ.get("HAI_SIMULATE_SUSPEND")))


def speaks() -> bool:
    """Return whether this process is on the node that reports for the task: that of rank 0, as in the original."""
    return job.rank == 0


def told() -> bool:
    """Return whether the task must save and leave, on every node; `told_master` has the original's rule."""
    if job.inside:
        # Each process answers for itself: the caller agrees with the other ranks if needed.
        return job.should_suspend(agree=_alone)
    return _simulation_is_over() or job.should_suspend(agree=_alone)


def told_master() -> bool:
    """Return whether the task must save and leave; always False on other nodes than rank 0's, as in the original.

    Code for the original asks on every process and leaves where the answer is True. Other nodes would leave while rank
    0 is still saving.
    """
    note_poll()
    return speaks() and told()


def declare_polling() -> None:
    """Tell the supervisor of another node than rank 0's that no signal is needed: rank 0 will report for this node.

    Otherwise profile `auto` would end this node's processes while rank 0 still computes and saves with them. On the
    node of rank 0 the first call of `told_master` does the same.
    """
    if job.inside and not speaks():
        try:
            Path(os.environ["HAI_RUNTIME_DIR"], "polling").touch()
        except OSError as error:
            say_once("polling", f"the platform could not be told that this task polls: {error.strerror}")


def note_poll() -> None:
    """Remember, for the other processes of the node, that the trainer of rank 0 asks for notices itself."""
    if job.inside and "poll" not in _said and trainer_rank() == 0:
        _said.add("poll")
        with contextlib.suppress(OSError):
            _master_polls().touch()


def leave() -> NoReturn:
    """Report for the whole task that it has saved, and wait until the platform ends this process.

    Where every process asks and leaves, the trainer of rank 0 saves. Then only that trainer reports, because another
    report could end it in the middle of the save. Processes on other nodes than rank 0's never report.
    """
    if speaks() and (trainer_rank() in (None, 0) or not _master_polls().exists()):
        say_done()
    wait_for_the_end()


def say_done() -> None:
    """Report for the whole task that it has saved and may be ended."""
    _die_of_sigterm()
    try:
        job.suspended(all_ranks=True)
    except SystemExit:
        # The original's call does not end the process; the caller waits, so that code after the training never runs.
        return


def wait_for_the_end() -> NoReturn:
    """Wait until the platform ends this process, at the latest at the deadline of the notice."""
    _die_of_sigterm()
    since = time.monotonic()
    said = since
    while True:
        time.sleep(1.0)
        now = time.monotonic()
        if now - said >= SAY_EVERY_S:
            said = now
            print(
                f"hfai: the task may be ended since {now - since:.0f} s, and waits for it", file=sys.stderr, flush=True
            )


def end_rehearsal() -> NoReturn:
    """Leave a rehearsal, as the original does."""
    print("hfai: a rehearsal: the task would be interrupted here", file=sys.stderr, flush=True)
    raise SystemExit(0)


def say_once(topic: str, text: str) -> None:
    """Write a line to stderr, once in a process for each topic."""
    if topic not in _said:
        _said.add(topic)
        print(f"hfai: {text}", file=sys.stderr, flush=True)


def outside(name: str) -> None:
    """Say, once for each function, that it does nothing here."""
    say_once(f"outside {name}", f"{name} does nothing here: this process is not a task of HAI")


def state() -> int | None:
    """Return the number that the task keeps over its runs; None outside of a task."""
    if simulated():
        return _number(os.environ.get("MARSV2_WHOLE_LIFE_STATE") or os.environ.get("HAI_STATE"))
    return _number(job.state) if job.inside else None


def _number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


def trainer_rank() -> int | None:
    """Return the rank of this process among the trainers; None if torch.distributed is not initialised."""
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return None
    return int(dist.get_rank())


def _master_polls() -> Path:
    return Path(os.environ.get("HAI_RUNTIME_DIR", "."), "hfai-rank-0-polls")


def _alone(flag: bool) -> bool:
    return flag


def _simulation_is_over() -> bool:
    if os.environ.get(SIMULATE) != "1":
        return False
    text = os.environ.get(SIMULATE_AFTER, "-1")
    try:
        seconds = float(text)
    except ValueError:
        raise ValueError(f"{SIMULATE_AFTER} is {text!r}; it must be a number of seconds") from None
    return 0 < seconds < time.monotonic() - _began


def _die_of_sigterm() -> None:
    """Restore the default action of SIGTERM, for which `job.should_suspend` has installed a handler."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
