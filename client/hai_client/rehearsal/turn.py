"""One run of a rehearsal: a real supervisor around the command, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

from hai_client.launching.starting import slurm_commands
from hai_client.linux.processes import descendants, read_table
from hai_client.rank.evidence.judging import looks_like_checkpoint
from hai_client.rank.starting.environment import RankContext, Run, rank_environment
from hai_client.rehearsal.service import LocalService

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from hai_client.rehearsal.plan import RehearsalPlan

_PART = re.compile(r"([0-9]{20})\.log")


class RehearsalRun:
    """A run from its start to its end. It must be closed, also after an error, so that no process is left.

    Args:
        plan: The plan of a rehearsal.
        number: 1; 2 for the run that resumes.
        place: A folder for all runs.
        state: The text that the run before stored (`job.set_state`).
        show: Gets each line of the log.
    """

    def __init__(
        self, plan: RehearsalPlan, number: int, place: Path, state: str | None, show: Callable[[str], None]
    ) -> None:
        self.folder = place / f"run-{number}"
        #: Reports of the run with their times of arrival, seconds since the epoch.
        self.reports: list[tuple[float, dict[str, Any]]] = []
        self.started_at = time.time()
        self._show = show
        self._offset = 0
        for part in ("runtime/reports", "log"):
            (self.folder / part).mkdir(parents=True)
        token = secrets.token_hex(16)
        self.service = LocalService(f"1.{number}", token, lambda report: self.reports.append((time.time(), report)))
        (self.folder / "token").write_text(token, encoding="ascii")
        (self.folder / "spec.json").write_text(json.dumps(self._spec(plan, number, state)), encoding="utf-8")
        package = str(Path(__file__).parents[2])
        with (self.folder / "supervisor.log").open("wb") as log:
            # Started in the main thread: the supervisor ends together with the thread that started it.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hai_client.rehearsal.child", str(self.folder), str(os.getpid())],
                cwd=self.folder,
                env={"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": package},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _spec(self, plan: RehearsalPlan, number: int, state: str | None) -> dict[str, Any]:
        run = Run(
            run_id=f"1.{number}",
            task_id=1,
            user=os.environ.get("USER", "you"),
            nodes=("localhost",),
            profile=plan.profile,
            api_url=self.service.url,
            addresses=("127.0.0.1",),
            cwd=plan.cwd,
            master_port=plan.port,
        )
        context = RankContext(
            rank=0,
            node="localhost",
            gpus=plan.gpus,
            runtime_dir=str(self.folder / "runtime"),
            token_file=str(self.folder / "token"),
        )
        own = {
            "HAI_TASK_NAME": "rehearsal",
            "HAI_SUBMIT_DIR": str(run.cwd),
            "HAI_RESTARTS": str(number - 1),
            "HAI_CHECKPOINT_DIR": str(plan.checkpoints),
            **({} if state is None else {"HAI_STATE": state}),
        }
        env = rank_environment(
            {**plan.env, **own}, run, context, home=str(Path.home()), path_first=(), slurm=slurm_commands()
        )
        return {
            "schema": 1,
            "run_id": run.run_id,
            "task_id": 1,
            "rank": 0,
            "node": "localhost",
            "command": list(plan.command),
            "cwd": plan.cwd,
            "env": env,
            "profile": plan.profile,
            "api_url": self.service.url,
            "signal": plan.signal,
            "signal_before_s": plan.signal_before_s,
            "watch": list(plan.watch),
        }

    @property
    def gone(self) -> bool:
        """Return whether all processes of the run have ended."""
        return self._process.poll() is not None

    def status(self) -> dict[str, Any]:
        """Return the supervisor's record of the run; empty before the run has begun."""
        try:
            found = json.loads((self.folder / "status.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def mark(self, name: str) -> str | None:
        """Return the content of a file that the in-job API wrote into the run's folder; None if there is none."""
        try:
            return (self.folder / "runtime" / name).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def show_log(self) -> None:
        """Show the output of the command since the last call."""
        for start, part in self._parts():
            with contextlib.suppress(OSError), part.open("rb") as file:
                file.seek(max(0, self._offset - start))
                data = file.read()
                # Leave an incomplete line for the next call.
                data = data[: data.rfind(b"\n") + 1]
                self._offset = max(self._offset, start) + len(data)
                for line in data.decode("utf-8", "replace").splitlines():
                    self._show(line.partition(" ")[2])

    def _parts(self) -> list[tuple[int, Path]]:
        found = [(name, _PART.fullmatch(name)) for name in os.listdir(self.folder / "log")]  # noqa: PTH208
        starts = sorted((int(match[1]), self.folder / "log" / name) for name, match in found if match)
        last = [start for start, _ in starts if start <= self._offset]
        return [(start, part) for start, part in starts if not last or start >= last[-1]]

    def open_checkpoints(self) -> list[str]:
        """Return the open files of the run's processes that have names of checkpoints."""
        found = []
        for pid in descendants(read_table(), (self._process.pid,)):
            with contextlib.suppress(OSError):
                folder = f"/proc/{pid}/fd"
                found += [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]  # noqa: PTH208
        return [path for path in found if path.startswith("/") and looks_like_checkpoint(os.path.basename(path))]  # noqa: PTH119

    def end(self) -> None:
        """End the run as the platform does at the deadline."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End the run if it has not ended, and stop its service."""
        try:
            while not self.gone:
                self.end()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)
            self.show_log()
        finally:
            self.service.close()

    def trouble(self) -> str:
        """Return the error messages of the supervisor itself."""
        return (self.folder / "supervisor.log").read_text(encoding="utf-8", errors="replace").strip()
