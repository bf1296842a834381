"""Run a notebook as a task: `python -m hai_client.notebook FILE.ipynb [--output OUT]`.

The outputs are written to a copy beside the notebook, after every cell and from time to time within a cell, so that
they survive an interruption; each run of a task has its own copy. The copy of a notebook that is in a snapshot is where
the task was submitted from. What cells print goes to standard output as well, so that the task's log is live. After a
notice the running cell gets a KeyboardInterrupt, and no further cell is started.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hai_client import notebook_kernel
from hai_client.lean_imports import leave_out_address_checks

if TYPE_CHECKING:
    from collections.abc import Mapping

MISSING = 1
#: Within a cell, outputs are written at most this often, seconds.
WRITE_EVERY_S = 5.0
TOLD_TO_LEAVE = 128 + signal.SIGTERM
#: Time between two looks at the kernel after a notice, and wait for its last outputs after its end, seconds.
LOOK_EVERY_S = 0.05
LAST_OUTPUTS_S = 0.1


def default_output(notebook: Path, task_id: str, rank: str = "0") -> Path:
    """Return `<name>.hai-<task id>.ipynb` beside the notebook; ranks but the first have their number in it."""
    seat = "" if rank == "0" else f".rank{rank}"
    return notebook.with_name(f"{notebook.stem}.hai-{task_id}{seat}.ipynb")


def place_of_outputs(notebook: Path, environ: Mapping[str, str]) -> Path:
    """Return the path beside which the outputs of a notebook are written: its own, unless it is in a snapshot.

    Nothing may be written into the stored tree of a snapshot, which other tasks share. Outputs go to the folder that
    the task was submitted from, where this node sees it, else to the task's own folder.
    """
    home = environ.get("HAI_SUBMIT_DIR")
    tree, path = Path.cwd().resolve(), notebook.resolve()
    if not environ.get("HAI_SNAPSHOT") or not home or tree not in path.parents:
        return notebook
    place = Path(home) / path.relative_to(tree)
    if os.access(place.parent, os.W_OK | os.X_OK):
        return place
    folder = Path(environ.get("HAI_CHECKPOINT_DIR") or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    return folder / notebook.name


def keep_earlier(output: Path, run: int) -> Path | None:
    """Move the outputs of an earlier run aside: `<output>.run<number>.ipynb`; None: there are none. Raises OSError.

    Args:
        output: Where this run will write.
        run: Its number.
    """
    try:
        with output.open(encoding="utf-8") as file:
            written = json.load(file)["metadata"]["hai"]["run"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        written = run - 1
    if written == run:
        # The outputs are of this run: this is a second call.
        return None
    number, kept = 1, output.with_name(f"{output.stem}.run{written}.ipynb")
    while kept.exists():
        number += 1
        kept = output.with_name(f"{output.stem}.run{written}-{number}.ipynb")
    output.rename(kept)
    return kept


def main(arguments: list[str] | None = None) -> int:
    """Execute a notebook; return 0 if every cell succeeded, 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m hai_client.notebook", description="Execute a notebook.")
    parser.add_argument("notebook", type=Path, help="the .ipynb file")
    parser.add_argument("--output", type=Path, help="where to write it with its outputs")
    parser.add_argument("--python", metavar="PROGRAM", help="the Python of its kernel (this one)")
    chosen = parser.parse_args(arguments)
    env = os.environ
    output = chosen.output or default_output(
        place_of_outputs(chosen.notebook, env), env.get("HAI_TASK_ID", "local"), env.get("HAI_RANK") or "0"
    )
    leave_out_address_checks()
    try:
        import nbclient
        import nbformat
    except ImportError as error:
        if chosen.python is None:
            # It takes this process's place, if there is one.
            notebook_kernel.run_elsewhere([str(chosen.notebook), "--output", str(output)])
        remedy = "install it with: pip install 'hai-client[notebook]'"
        print(f"hai: {error.name} is not installed in {sys.prefix}; {remedy}", file=sys.stderr)
        return MISSING
    del nbclient
    try:
        # Editors of Windows put a byte order mark before the JSON.
        document = nbformat.reads(chosen.notebook.read_text(encoding="utf-8-sig"), as_version=4)
    except OSError as error:
        print(f"hai: {chosen.notebook}: {error.strerror}", file=sys.stderr)
        return 1
    except UnicodeDecodeError as error:
        print(
            f"hai: {chosen.notebook} is not UTF-8: {error.reason} at byte {error.start}; save it as UTF-8",
            file=sys.stderr,
        )
        return 1
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        print(f"hai: {chosen.notebook} is not a notebook: {error}", file=sys.stderr)
        return 1
    run = os.environ.get("HAI_RUN", "")
    if run.isdigit():
        try:
            kept = keep_earlier(output, int(run))
        except OSError as error:
            print(f"hai: {output} cannot be kept: {error.strerror}", file=sys.stderr)
            return 1
        if kept is not None:
            print(f"hai: the outputs of the run before are kept in {kept}", flush=True)
        document.metadata["hai"] = {"run": int(run)}
    runner = Runner(document, output, folder=chosen.notebook.resolve().parent, python=chosen.python)
    return asyncio.run(runner.run())


class Told(Exception):
    """The task got a notice: no further cell is started."""


class Runner:
    """Executes one notebook and keeps its outputs."""

    def __init__(self, document: Any, output: Path, *, folder: Path, python: str | None = None) -> None:
        self._document = document
        self._output = output
        self._folder = folder
        self._python = python
        self._sockets = tempfile.mkdtemp(prefix="hai-nb-")
        self._kernel: Any = None
        self._written_at = float("-inf")
        self._told = False
        self._total = sum(1 for cell in document.cells if cell.cell_type == "code" and cell.source.strip())
        self._number = 0
        self._interrupting: asyncio.Future[Any] | None = None
        self._executing: Any = None
        self._watching: asyncio.Future[Any] | None = None

    async def run(self) -> int:
        """Execute the notebook, and return the exit status."""
        from nbclient.exceptions import CellExecutionError, DeadKernelError

        try:
            self._executing = self._client()
            await self._executing.async_execute()
        except CellExecutionError as error:
            if not (self._told and error.ename == "KeyboardInterrupt"):
                return self._failed(error)
            return self._left()
        except Told:
            return self._left()
        except DeadKernelError as error:
            if self._told or _is_noticed():
                # Also where a cell has a handler of its own, which has saved and ended the kernel.
                return self._left()
            print(f"hai: the kernel died: {error}", file=sys.stderr, flush=True)
            return 1
        except notebook_kernel.NoKernel as error:
            if self._told:
                return self._left()
            print(f"hai: {error}", file=sys.stderr, flush=True)
            return 1
        finally:
            self.write()
            shutil.rmtree(self._sockets, ignore_errors=True)
        print(f"hai: all {self._total} cells are done; outputs are in {self._output}", flush=True)
        return 0

    def _left(self) -> int:
        """Remove the KeyboardInterrupt of the notice from the outputs, and return the exit status."""
        for cell in self._document.cells:
            outputs = cell.get("outputs", [])
            if outputs and outputs[-1].get("ename") == "KeyboardInterrupt":
                del outputs[-1]
        print("hai: told to leave; the outputs so far are kept", flush=True)
        return TOLD_TO_LEAVE

    def _failed(self, error: Any) -> int:
        if error.ename == "SystemExit":
            # `job.suspended()` and sys.exit() end a notebook as they end a script.
            left = self._total - self._number
            if left:
                cells = "cell was" if left == 1 else "cells were"
                print(f"hai: cell {self._number} has ended the notebook: {left} more {cells} not run", flush=True)
            return int(error.evalue) if error.evalue.lstrip("-").isdigit() else int(error.evalue not in ("", "None"))
        print(error.traceback, flush=True)
        print(f"hai: cell {self._number} of {self._total} failed: {error.ename}: {error.evalue}", flush=True)
        return 1

    def _client(self) -> Any:
        from nbclient import NotebookClient

        runner = self

        class Client(NotebookClient):
            """A notebook client that prints outputs as they come, with the kernel of `notebook_kernel`."""

            def create_kernel_manager(self) -> Any:
                self.km = runner._kernel = notebook_kernel.manager(
                    runner._document.metadata, runner._sockets, runner._python
                )
                return self.km

            async def async_start_new_kernel(self, **options: Any) -> None:
                # The executor has set its own handler a moment ago; this one comes after it.
                runner._listen()
                await super().async_start_new_kernel(**options)

            async def async_start_new_kernel_client(self) -> Any:
                try:
                    return await super().async_start_new_kernel_client()
                except (RuntimeError, OSError) as error:
                    # It has cleaned up, and would fail to do so again at the end of this process.
                    atexit.unregister(self._cleanup_kernel)
                    raise notebook_kernel.NoKernel(
                        f"the kernel did not start: {error}; is ipykernel installed in {runner._program}?"
                    ) from None

            def output(self, outs: Any, msg: Any, display_id: Any, cell_index: Any) -> Any:
                out = super().output(outs, msg, display_id, cell_index)
                runner.show(out)
                return out

        return Client(
            self._document,
            timeout=None,
            resources={"metadata": {"path": str(self._folder)}},
            on_cell_execute=lambda **_: self._begin(),
            on_cell_executed=lambda **_: self.write(),
            on_cell_error=lambda **_: self.write(),
        )

    @property
    def _program(self) -> str:
        return self._python or sys.executable

    def _listen(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._on_leave)

    def _on_leave(self) -> None:
        self._told = True
        if not _polls() and self._interrupting is None:
            self._interrupting = asyncio.ensure_future(self._interrupt())
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._wait_for_end_of_kernel())

    async def _wait_for_end_of_kernel(self) -> None:
        """Notice the end of the kernel at once: nbclient looks once a second."""
        # The kernel is no child of this process, so its end must be polled.
        while await self._kernel.is_alive():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_EVERY_S)
        await asyncio.sleep(LAST_OUTPUTS_S)
        cell = self._executing.task_poll_for_reply
        if cell is not None:
            # For nbclient that is a kernel that has died.
            cell.cancel()

    async def _interrupt(self) -> None:
        # A kernel that is gone has got the signal from the supervisor.
        with contextlib.suppress(RuntimeError, OSError):
            await self._kernel.interrupt_kernel()

    def _begin(self) -> None:
        if self._told and not _polls():
            raise Told
        self._number += 1
        print(f"hai: cell {self._number} of {self._total}", flush=True)

    def show(self, output: Any) -> None:
        """Print an output, if it is text, and write the notebook from time to time."""
        if output is None:
            return
        if output.output_type == "stream":
            print(output.text, end="", flush=True)
        elif output.output_type in ("execute_result", "display_data"):
            text = output.data.get("text/plain")
            if text:
                print(text, flush=True)
        if time.monotonic() - self._written_at >= WRITE_EVERY_S:
            self.write()

    def write(self) -> None:
        """Write the notebook with the outputs so far, whole or not at all."""
        import nbformat

        draft = self._output.with_name(f".{self._output.name}.tmp")
        try:
            nbformat.write(self._document, draft)
            draft.replace(self._output)
        except OSError as error:
            print(f"hai: {self._output} cannot be written: {error.strerror}", file=sys.stderr, flush=True)
        self._written_at = time.monotonic()


def _polls() -> bool:
    """Return whether the notebook's own code calls `job.should_suspend`, and so will leave by itself."""
    return _says("polling")


def _is_noticed() -> bool:
    """Return whether the task got a notice."""
    return _says("notice.json")


def _says(name: str) -> bool:
    runtime = os.environ.get("HAI_RUNTIME_DIR")
    return runtime is not None and (Path(runtime) / name).exists()


if __name__ == "__main__":
    status = main()
    if status == TOLD_TO_LEAVE:
        # Everything is written, and others wait for the node: Jupyter takes long to be taken apart.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
