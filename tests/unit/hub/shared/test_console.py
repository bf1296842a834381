"""What `hai up` hears while it waits."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

from hai_hub.shared.console import Interrupts

#: Seconds that no test waits out.
LONG = 30.0


def test_the_end_of_a_child_ends_the_wait_and_is_no_interrupt() -> None:
    with Interrupts() as interrupts:
        began = time.monotonic()
        with subprocess.Popen(["/bin/true"]):
            interrupts.sleep(LONG)
        assert time.monotonic() - began < LONG
        assert interrupts.count == 0


def test_a_signal_is_counted_and_ends_the_wait() -> None:
    with Interrupts() as interrupts:
        began = time.monotonic()
        os.kill(os.getpid(), signal.SIGTERM)
        interrupts.sleep(LONG)
        assert time.monotonic() - began < LONG
        assert interrupts.count == 1


def test_a_signal_that_another_thread_takes_ends_the_wait_too() -> None:
    with Interrupts() as interrupts:
        began = time.monotonic()
        other = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM))
        other.start()
        interrupts.sleep(LONG)
        other.join()
        assert time.monotonic() - began < LONG
        assert interrupts.count == 1


def test_what_was_heard_before_is_heard_again_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    with Interrupts():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)] == before
