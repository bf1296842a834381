"""Supervises one rank from its start to its end."""
# ruff: noqa: PTH103, PTH110, PTH112, PTH117, PTH118, PTH120
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections import deque

from hai_client import pythons
from hai_client.linux import identity, oom, processes
from hai_client.linux.process_killer import ProcessKiller, kill_all
from hai_client.linux.usage import RankUsage
from hai_client.rank.evidence.finding import Evidence
from hai_client.rank.notices.delivery import NoticeDelivery
from hai_client.rank.notices.launchers import HAND_ON_S
from hai_client.rank.notices.stop_signals import ImmediateEnd
from hai_client.rank.notices.telling import Telling
from hai_client.rank.notices.watch import NoticeWatch
from hai_client.rank.records.logs import LogWriter
from hai_client.rank.records.rank_records import Abandoned, RankRecords
from hai_client.rank.records.recorder import Recorder
from hai_client.rank.records.status import Status
from hai_client.rank.shared.api import RankApi, Unreachable
from hai_client.rank.shared.times import seconds_of
from hai_client.rank.shared.wakeup_pipe import WakeupPipe
from hai_client.rank.starting import command, lock
from hai_client.rank.starting.secrets import RankSecrets, folder_of
from hai_client.rank.starting.spec import BadSpec, Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from hai_client.linux.identity import Account
    from hai_client.rank.evidence.reading import Reading
    from hai_client.rank.notices.stop_signals import PodEviction
    from hai_client.rank.records.metrics import RankMetrics

READ_BYTES = 256 * 1024
TICK_S = 0.1
#: When to begin to listen for notices, seconds: short commands have ended by then.
LISTEN_AFTER_S = 0.1
#: When to begin to measure, seconds: short commands have ended by then.
MEASURE_AFTER_S = 1.0
#: How long this process stays after the end of the rank to send its last metrics, seconds: longer than a service
#: that was killed needs to be back.
METRICS_WAIT_S = 10.0
USAGE_EVERY_S = 5.0
USAGE_FIRST_S = 1.0
#: Time between SIGTERM and SIGKILL when all ranks have said that they are done, seconds.
DONE_WAIT_S = 1.0
#: An end of the run earlier than this before its deadline means that all ranks are gone, or the gang is broken.
EARLY_S = 1.0
#: Exit statuses of commands that were killed, or crashed: SIGKILL, SIGSEGV, SIGABRT, SIGBUS.
CRASHED = frozenset({137, 139, 134, 135})
#: The status of a rank that was ended before its command was started.
NEVER_STARTED = 128 + signal.SIGTERM


def main(folder: str, keeper: int, blocked: Collection[signal.Signals]) -> int:
    """Supervise the rank that a folder describes. The folder's lock is held already.

    Args:
        folder: Absolute path of the rank's folder.
        keeper: The pid of the process around this one (`hai_client.rank.keeper`).
        blocked: The signals that it blocked.

    Returns:
        0; 1 if the end of the rank could not be recorded.
    """
    wakeup_pipe = WakeupPipe()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)
    make_folders(folder)
    os.makedirs(os.path.join(folder, "log"), mode=0o700, exist_ok=True)
    status = Status(folder)
    try:
        spec = Spec.load(folder)
        token = spec.token()
        if not token:
            # Without the token it would get no notice, and would be ended in the middle of its work.
            raise BadSpec("the file token is missing or says nothing; the task is started again in a new run")
        secrets = RankSecrets.load(folder, spec)
        account = _account_of(spec)
        processes.become_subreaper()
        status.begin()
    except (BadSpec, OSError) as error:
        print(f"hai_client.rank: {error}", file=sys.stderr)
        return 0 if status.end(None, str(error)) else 1
    api = RankApi(spec.api_url, token, spec.run_id, spec.rank, spec.address_file)
    end = ImmediateEnd(wakeup_pipe, spec.term_wait_s)
    supervisor = Supervisor(spec, status, wakeup_pipe, api, end, secrets=secrets, keeper=keeper, account=account)
    if os.path.exists(os.path.join(os.path.dirname(folder), "kill")):
        # The whole run was ended. Look for the mark after the status was written: the service leaves the mark first and
        # looks for ranks afterwards, so that one of the two sees the other.
        supervisor.never_start()
        return 0
    try:
        supervise(supervisor)
    except Abandoned as error:
        print(f"hai_client.rank: {error}; the rank was ended", file=sys.stderr)
        return 1
    return 0


def make_folders(folder: str) -> None:
    """Make the folders where the job finds its notices and leaves its reports. Raises OSError."""
    for part in ("", "runtime", "runtime/reports"):
        os.makedirs(os.path.join(folder, part), mode=0o700, exist_ok=True)


def _account_of(spec: Spec) -> Account | None:
    """Return the account that the command runs as, with its folder prepared. Raises BadSpec, OSError."""
    if spec.account is None:
        return None
    account = identity.account_named(spec.account)
    if account is None:
        raise BadSpec(f"there is no Unix account {spec.account!r} any more")
    # Drop this process's own groups: its file accesses for the job must not use their rights.
    os.setgroups([])
    with identity.acting_as(account):
        os.makedirs(os.path.join(spec.runtime, "reports"), mode=0o700, exist_ok=True)
    return account


def supervise(supervisor: Supervisor) -> None:
    """Run a rank to its end; after any error all its processes are killed."""
    try:
        supervisor.run()
    except BaseException:
        # No end is recorded, so the service counts the rank as lost.
        kill_all()
        supervisor.secrets.end(supervisor.account)
        raise


class Supervisor:
    """Runs the command of a rank and looks after it until no process of it is left."""

    def __init__(
        self,
        spec: Spec,
        status: Status,
        wakeup_pipe: WakeupPipe,
        api: RankApi,
        stop_signals: ImmediateEnd | PodEviction,
        *,
        secrets: RankSecrets,
        keeper: int | None = None,
        account: Account | None = None,
        pod: bool = False,
    ) -> None:
        self._spec = spec
        self._pod = pod
        self.account = account
        self.secrets = secrets
        self._keeper = keeper
        self._wakeup_pipe = wakeup_pipe
        self._stop_signals = stop_signals
        redactor = None
        if secrets.values:
            # Imported here: most ranks have none.
            from hai_client.rank.records.redaction import Redactor

            redactor = Redactor(secrets.values)
        self._log = LogWriter(
            spec.log_dir, max_bytes=spec.log_max_bytes, parts=spec.log_parts, mode=spec.log_mode, redactor=redactor
        )
        status.data["watched"] = bool(spec.watch)
        self._records = RankRecords(spec, status, self._log, api, account, redactor)
        self._notices: deque[dict[str, Any]] = deque()
        self._recorder = Recorder(spec, api, account, wakeup_pipe.ring)
        self._watch: NoticeWatch | None = NoticeWatch(api, self._deliver, self._recorder.order)
        self._delivery = NoticeDelivery(spec, self._log, account)
        self._evidence = Evidence(spec, account, time.time_ns())
        self._telling = Telling(spec, self._evidence, self._mark_signalled, account)
        self._api = api
        #: The last notice that the job got.
        self._notice: dict[str, Any] | None = None
        self._yielded = False
        #: Whether the checkpoint of the run before is read; None: there is none, or it is known already.
        self._reading: Reading | None = None
        if spec.checkpoint and os.path.isabs(spec.checkpoint) and spec.rank == 0:
            # Imported here: a first run needs it not.
            from hai_client.rank.evidence.reading import Reading

            self._reading = Reading(spec, account)
        self._usage = RankUsage()
        self._metrics: RankMetrics | None = None
        self._output = -1
        self._main = 0
        self._exit_code: int | None = None
        self._oom_kills = oom.kills()
        self._ending: ProcessKiller | None = None

    def say(self, text: str) -> None:
        """Write a line of the platform into the log."""
        self._log.say(text)

    def never_start(self, start_error: str | None = None) -> None:
        """Record that the rank was ended before its command was started; `start_error` says why if by mistake."""
        self.secrets.forget()
        self._records.end(NEVER_STARTED if start_error is None else None, start_error)

    def run(self) -> None:
        """Start the command, supervise it to its end, and record the end."""
        if os.path.exists(os.path.join(self._spec.folder, "kill")):
            self.never_start()
            return
        self._look_up()
        try:
            lock.mark_begun(self._spec.folder)
        except OSError as error:
            self.never_start(f"its start could not be recorded: {error}")
            return
        # Only now: before, the supervisor could have been started once more.
        self.secrets.forget()
        # With an account do not look: this process may see folders that the account may not know of.
        doubt = pythons.doubt(self._spec.env) if self.account is None else None
        if doubt is not None:
            self._log.say(doubt)
        try:
            self._start()
        except command.CannotStart as failure:
            self.secrets.end(self.account)
            self._recorder.finish()
            self._log.say(failure.sentence)
            self._records.end(failure.exit_code, None if failure.exit_code is not None else failure.sentence)
            self._recorder.finish()
            return
        self._loop()
        self.secrets.end(self.account)
        self._read_output()
        self._records.take_reports()
        self._look_for_the_last_time()
        self._reading = judged(self._reading, self._records, self._log)
        if self._metrics is None and os.path.isdir(os.path.join(self._spec.runtime, "progress")):
            # A short command, which has reported how far it has come.
            self._measure()
        if self._metrics is not None:
            self._metrics.last_look()
        self._records.data["usage"] = self._usage.final()
        if self._metrics is not None:
            self._metrics.close()
            self._records.data["summary"] = self._metrics.summary()
        self._records.end(self._exit_code)
        # Afterwards: the nodes of the run are not held for it.
        self._recorder.finish()
        if self._metrics is not None:
            self._metrics.finish(METRICS_WAIT_S)

    def _look_up(self) -> None:
        """Raise Abandoned if the keeper is dead."""
        # A signal writes to the pipe when the keeper dies (PR_SET_PDEATHSIG).
        if self._keeper is not None and os.getppid() != self._keeper:
            raise Abandoned("the process that keeps the supervisor was killed")

    def _start(self) -> None:
        self._recorder.open()
        self.secrets.begin(self._spec.env, folder_of(self._spec.folder), self.account)
        self._output, write_end = os.pipe()
        os.set_blocking(self._output, False)
        if self._reading is not None:
            self._reading.start()
        try:
            self._main = command.start(self._spec, write_end, self.account)
        finally:
            os.close(write_end)
        self._records.note_start(self._main)

    def _loop(self) -> None:
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(self._wakeup_pipe.fd, select.POLLIN)
        begin = time.monotonic()
        next_usage = begin + USAGE_FIRST_S
        while self._reap():
            now = time.monotonic()
            self._step(now)
            if self._watch is not None and now - begin >= LISTEN_AFTER_S:
                self._watch.start()
                self._watch = None
                if self._pod and self._spec.rank == 0:
                    self._records.tell_machine()
            if now >= next_usage:
                next_usage = now + USAGE_EVERY_S
                self._sample()
            if self._metrics is not None:
                self._metrics.step(now)
            elif now - begin >= MEASURE_AFTER_S:
                self._measure()
            self._log.step(now)
            self._recorder.step(now)
            self._recorder.attend(poll, now)
            for fd, _ in poll.poll((self._ending.tick_s if self._ending else TICK_S) * 1000):
                if fd == self._recorder.fd:
                    self._recorder.hear(now)
                elif fd == self._output and not self._read_output():
                    poll.unregister(fd)
            self._wakeup_pipe.clear()

    def _measure(self) -> None:
        # Imported here: a short command has ended before it is needed.
        from hai_client.rank.records.metrics import RankMetrics, readers_of
        from hai_client.rank.records.reported import Reported

        reported = Reported(self._spec.runtime, self.account, self._log.say)
        self._metrics = RankMetrics(self._api, readers_of(self._spec.env, pod=self._pod), reported)

    def _step(self, now: float) -> None:
        """Do what is due: take reports, notices and evidence, and end the rank if it must end."""
        self._look_up()
        self._records.take_reports()
        own = self._stop_signals.notice(now)
        if own is not None:
            self._take_notice(own)
        while self._notices:
            self._take_notice(self._notices.popleft())
        if self._ending is None:
            # Even when the command is gone: a shell may have died while the workers under it still save.
            self._telling.step(now)
            self._records.data["caught"] = self._telling.roster.caught
        self._records.take_evidence(self._evidence.news(now))
        if self._ending is None and (self._stop_signals.must_end() or self._abandoned(now)):
            self._ending = ProcessKiller(self._wait_s(now), self._evidence.tear, self._telling.roster.still_told())
            self._mark_signalled()
        if self._ending is not None:
            if self._yielded:
                self._ending.hasten(now, DONE_WAIT_S)
            self._ending.step(now)

    def _abandoned(self, now: float) -> bool:
        """Return whether the command has ended and no worker that it left behind is saving."""
        return self._exit_code is not None and not self._telling.somebody_saves(now)

    def _wait_s(self, now: float) -> float:
        """Return how long the rest of the rank has between SIGTERM and SIGKILL, seconds."""
        wait = self._stop_signals.wait_s(now)
        if self._telling.roster.ray_ended and not self._stop_signals.must_end():
            # The driver has had as long already; what is left of Ray has nothing to save, and takes seconds to end.
            return min(wait, HAND_ON_S)
        if self._records.data["done"] or self._records.data["done_all"] or self._telling.roster.ray_ended:
            return min(wait, DONE_WAIT_S)
        if not self._stop_signals.must_end():
            return wait
        if self._notice is None:
            self._ask_why()
            return wait
        # Another rank may have reported done for this one: then the run is ended before its deadline.
        left = (seconds_of(self._notice.get("deadline")) or 0.0) - time.time()
        return min(wait, DONE_WAIT_S) if left > EARLY_S and not self._evidence.going_on(now) else wait

    def _ask_why(self) -> None:
        """Ask the service whether the run has given its nodes back by itself: then no rank has to be waited for."""
        import threading

        def ask() -> None:
            with contextlib.suppress(Unreachable):
                _, body = self._api.notice(0, 0)
                notice = body.get("notice")
                if isinstance(notice, dict) and notice.get("reason") == "yielded":
                    self._yielded = True
                    self._wakeup_pipe.ring()

        threading.Thread(target=ask, name="why", daemon=True).start()

    def _look_for_the_last_time(self) -> None:
        """Find the last checkpoint, after all processes of the rank are gone and before the end is recorded."""
        if self._exit_code == 0 and self._notice is None and self._ending is None:
            return
        if self._exit_code in CRASHED and self._ending is None:
            self._evidence.saves.tear_open()
        self._evidence.last_look(
            forced=self._stop_signals.must_end(),
            failed=self._telling.has_failed(self._exit_code, ended=self._stop_signals.must_end()),
        )
        evidence = self._evidence
        if evidence.spoilt:
            self._records.take_spoilt(evidence.newest)
            self._log.say("the checkpoint that was seen last is none any more: its file was written over, or removed")
        else:
            self._records.take_evidence(evidence.news(time.monotonic(), at_once=True))
        if evidence.refused is not None and self._notice is not None:
            path, why = evidence.refused
            self._log.say(f"{path} is not taken for a checkpoint: it {why}")

    def _reap(self) -> bool:
        """Reap ended children; return whether any is left. Orphans become children too: no child, no descendant."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._main:
                self._take_end(status)

    def _take_end(self, status: int) -> None:
        """Note the wait status of the command (`os.wait`)."""
        if os.WIFSIGNALED(status):
            stage = self._telling.end_of_stage(self._main)
            status = status if stage is None else stage
        if self._telling.heard_by_file():
            self._records.data["signalled"] = True
        died = os.WIFSIGNALED(status)
        self._records.data["signal"] = os.WTERMSIG(status) if died else None
        self._exit_code = 128 + os.WTERMSIG(status) if died else os.WEXITSTATUS(status)
        # Others may share the cgroup: only a command that was killed, and not by the platform, counts.
        killed = self._exit_code == 128 + signal.SIGKILL and self._ending is None
        self._records.data["out_of_memory"] = killed and oom.kills() > self._oom_kills

    def _read_output(self) -> bool:
        """Log the command's output; return whether more can come."""
        for _ in range(16):
            try:
                data = os.read(self._output, READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._log.feed(data)
            self._recorder.printed(data)
        return True

    def _deliver(self, notice: dict[str, Any]) -> None:
        """Queue a notice; called in the thread that waits for notices."""
        self._notices.append(notice)
        self._wakeup_pipe.ring()

    def _take_notice(self, notice: dict[str, Any]) -> None:
        first = self._notice is None
        notice = self._notice = self._stop_signals.take(notice)
        if first:
            # Output that the command wrote before the notice belongs before this line.
            self._read_output()
            self._delivery.announce(notice)
        if self._telling.at_once:
            # Mark it before the job can read the notice: a job that finds the file may leave before the signal comes.
            self._mark_signalled()
        self._delivery.write(notice)
        received = self._delivery.received(notice)
        self._telling.begin(self._main, notice, time.monotonic())
        # A notice that began here is not the service's, and is not reported.
        self._records.note_notice(received, caught=self._telling.roster.caught, own=notice["revision"] <= 0)

    def _mark_signalled(self) -> None:
        """Record that the command was told to leave, unless it has ended: a status of 0 may mean a suspension then."""
        self._reap()
        if self._exit_code is None:
            self._records.data["signalled"] = True

    def _sample(self) -> None:
        self._records.data["usage"], alive = self._usage.sample()
        if self._metrics is not None:
            self._records.data["summary"] = self._metrics.summary()
        self._delivery.remember(alive)
        self.secrets.hold(self.account)
        self._evidence.start()
        self._evidence.look(process.pid for process in alive)
        self._reading = judged(self._reading, self._records, self._log)
        self._records.write()


def judged(reading: Reading | None, records: RankRecords, log: LogWriter) -> Reading | None:
    """Say so if a run has saved and has read nothing of what the run before had saved; return None when it is known."""
    if reading is None:
        return None
    unread = not reading.has_read()
    if unread and records.data["checkpoint"] is None:
        return reading
    reading.close()
    if unread:
        records.data["unread"] = reading.path
        log.say(
            f"this run has saved, and has read nothing of {reading.path}, which the run before had left: it may"
            " have begun again from the start; `hai rehearse` shows what it reads"
        )
    return None
