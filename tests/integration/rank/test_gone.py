"""When all ranks have said that they are done, their remaining processes are not waited for."""

from __future__ import annotations

import time
from datetime import datetime

from kit.waiting import wait_for

#: Seconds; far longer than these tests take.
LONG_S = 300
#: A job that ignores SIGTERM, as Lightning does under Slurm's variables, and goes on training.
BYPASSES = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: print("Bypassing SIGTERM", flush=True))
signal.signal(signal.SIGUSR1, lambda *_: print("saved", flush=True))
print("up", flush=True)
while True:
    time.sleep(0.01)
"""
DONE = "from hai_client import job\njob._job._say('done', local_rank=0, local_size=1, all_ranks={all})\n"


def test_a_rank_that_is_done_is_killed_soon_though_it_passes_sigterm_over(bench, service) -> None:
    supervisor = bench.python(DONE.format(all="None") + BYPASSES, profile="slurm", term_wait_s=LONG_S)
    bench.printed("up")
    wait_for("the rank to be done", lambda: bench.status()["done"])
    supervisor.terminate()
    assert bench.wait()["exit_code"] == 137


def test_and_so_are_the_others_when_one_spoke_for_them(bench, service) -> None:
    """The run is ended before its deadline: no other rank is waited for."""
    supervisor = bench.python(BYPASSES, profile="slurm", term_wait_s=LONG_S)
    bench.printed("up")
    service.notify(deadline="2126-01-01T00:02:00Z")
    bench.printed("saved")
    supervisor.terminate()
    assert bench.wait()["exit_code"] == 137


def test_a_rank_whose_run_gave_its_nodes_back_unasked_is_not_waited_for_either(bench, service) -> None:
    supervisor = bench.python(BYPASSES, profile="slurm", term_wait_s=LONG_S)
    bench.printed("up")
    service.silent = True
    service.notify(reason="yielded")
    supervisor.terminate()
    assert bench.wait()["exit_code"] == 137


def test_at_the_deadline_it_has_its_time(bench, service) -> None:
    slow = (
        "import signal, sys, time\n"
        "def leave(*_):\n    time.sleep(2); print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\nprint('up', flush=True)\ntime.sleep(600)\n"
    )
    supervisor = bench.python(slow, profile="cooperative", term_wait_s=LONG_S)
    bench.printed("up")
    service.notify(deadline=datetime.fromtimestamp(time.time()).astimezone().isoformat())
    supervisor.terminate()
    assert bench.wait()["exit_code"] == 0
    assert "saved" in bench.lines()


def test_a_rank_that_writes_a_checkpoint_is_not_hurried_by_another_that_spoke_for_it(bench, service, tmp_path) -> None:
    slow = (
        "import os, signal, sys, time\nprint('up', flush=True)\n"
        "def leave(*_):\n"
        "    with open(os.environ['HAI_CHECKPOINT_DIR'] + '/model.pt', 'w') as file:\n"
        "        print('saving', flush=True)\n"
        "        for _ in range(30): file.write('x'); file.flush(); time.sleep(0.1)\n"
        "    print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\nprint('ready', flush=True)\nwhile True: time.sleep(1)\n"
    )
    supervisor = bench.python(slow, profile="sigterm", term_wait_s=LONG_S, env={"HAI_CHECKPOINT_DIR": str(tmp_path)})
    bench.printed("ready")
    service.notify(deadline="2126-01-01T00:02:00Z")
    bench.printed("saving")
    # The supervisor has seen it as well: it looks ten times a second.
    begin = time.monotonic()
    wait_for("a second to pass", lambda: time.monotonic() - begin > 1)
    supervisor.terminate()
    bench.wait()
    assert "saved" in bench.lines()
