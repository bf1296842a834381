"""What the points of many ranks cost the service, with everything between its socket and its disk."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Final

from bench.figures import Report, say
from bench.metrics_points import as_sent, points_of
from bench.proc import cpu_share
from hai_client.rank.shared.api import RankApi
from hai_scheduler.service.metrics.pace import BY_SECOND

#: For how long the service is watched, seconds.
WATCHED_S: Final = 30.0
#: Ranks of them that send in that time, and while it begins and ends.
SENDING: Final = round((WATCHED_S + 10) * BY_SECOND)
#: Requests at once: a piece may wait a second for others, and one run has 32 places (`ApiLimits.run`).
AT_ONCE: Final = 24
#: What each rank sends at once, seconds: 1,500 ranks are asked to send so often.
PIECE_S: Final = 1500 // BY_SECOND
#: Different pieces, which are sent again and again by different ranks.
PIECES: Final = 20
PATIENCE_S: Final = 30.0


def measure(report: Report, topic: str, ranks: int) -> float:
    """Send as `ranks` supervisors do, those of one gang and those of as many tasks; and as they did before packing.

    Returns:
        What the dearer of the first two takes of the API, percent of a core.
    """
    dearest = 0.0
    for tasks, packs, words in (
        (1, True, "one gang"),
        (ranks, True, "of one rank each"),
        (1, False, "one gang, supervisors that do not pack"),
    ):
        say(f"{ranks} ranks send: {words}")
        with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as folder:
            share, sent = _measured(folder, tasks, ranks // tasks, packs=packs)
        note = f"of a core, with HTTP and SQLite; {sent:.1f} pieces a second"
        aim = 5 if packs else None
        report.add(topic, f"{ranks} ranks: CPU of the API, {words}", share, "%", note, at_most=aim)
        dearest = max(dearest, share if packs else 0.0)
    return dearest


def _measured(folder: str, tasks: int, ranks: int, *, packs: bool) -> tuple[float, float]:
    """The share of a core, and how many pieces were taken each second."""
    command = [sys.executable, "-m", "bench.metrics_service", folder, str(tasks), str(ranks)]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    try:
        said = json.loads(service.stdout.readline())
        apis = [RankApi(said["url"], token, run, rank) for run, token in said["runs"].items() for rank in range(ranks)]
        end = int(time.time()) // 3600 * 3600 - 600
        with ThreadPoolExecutor(AT_ONCE) as pool:
            # The first piece of each, as after a start of the service.
            list(pool.map(lambda api: _send(api, [{"at": end, "values": {"cpu": [1, 1, 1]}}]), apis))
            if not packs:
                for api in apis:
                    api._packs = False
            share, sent = _paced(pool, service.pid, apis, end, packs=packs)
    finally:
        service.kill()
        service.wait()
    return share, sent


def _paced(pool: ThreadPoolExecutor, pid: int, apis: list[RankApi], end: int, *, packs: bool) -> tuple[float, float]:
    """Let one rank after the other send what these seconds give, as often as the platform asks 1,500 of them to."""
    pieces = [[as_sent(point) for point in points_of(end, end + PIECE_S, seed)] for seed in range(PIECES)]
    turns, done, stop = _turns(apis), count(), threading.Event()

    def one(number: int) -> None:
        api = next(turns)
        _send(api, pieces[number % PIECES])
        api._packs = api._packs and packs
        next(done)

    def all_of_them() -> None:
        began = time.monotonic()
        for number in count():
            if stop.wait(max(0, began + number / BY_SECOND - time.monotonic())):
                return
            pool.submit(one, number).add_done_callback(_raise)

    sender = threading.Thread(target=all_of_them)
    sender.start()
    time.sleep(3)
    before = next(done)
    share = cpu_share(pid, WATCHED_S)
    sent = (next(done) - before - 1) / WATCHED_S
    stop.set()
    sender.join()
    return share, sent


def _turns(apis: list[RankApi]) -> Iterator[RankApi]:
    yield from apis
    raise LookupError("each rank has sent its piece: watch for a shorter time")


def _send(api: RankApi, points: list[dict[str, Any]]) -> None:
    answer = api.send_metrics(points, PATIENCE_S)
    assert (answer.status, answer.body.get("newest")) == (200, points[-1]["at"]), (answer.status, answer.body)


def _raise(done: Any) -> None:
    done.result()
