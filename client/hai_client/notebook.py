"""Run a notebook as a task: `python -m hai_client.notebook FILE.ipynb [--output OUT]`.

The outputs are written to a copy beside the notebook, after every cell and from time to time within one, so that
they survive an interruption. What cells print goes to standard output as well, so that the task's log is live.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

MISSING = 1
#: Within a cell, outputs are written at most this often, seconds.
WRITE_EVERY_S = 5.0
TOLD_TO_LEAVE = 128 + signal.SIGTERM


def default_output(notebook: Path, task_id: str) -> Path:
    """`<name>.hai-<task id>.ipynb` beside the notebook."""
    return notebook.with_name(f"{notebook.stem}.hai-{task_id}.ipynb")


def main(arguments: list[str] | None = None) -> int:
    """Execute a notebook; 0 if every cell went through, 1 with the traceback if one failed."""
    parser = argparse.ArgumentParser(prog="python -m hai_client.notebook", description="Execute a notebook.")
    parser.add_argument("notebook", type=Path, help="the .ipynb file")
    parser.add_argument("--output", type=Path, help="where to write it with its outputs")
    chosen = parser.parse_args(arguments)
    output = chosen.output or default_output(chosen.notebook, os.environ.get("HAI_TASK_ID", "local"))
    try:
        import nbclient
        import nbformat
    except ImportError as error:
        remedy = "install it with: pip install 'hai-client[notebook]'"
        print(f"hai: {error.name} is not installed in {sys.prefix}; {remedy}", file=sys.stderr)
        return MISSING
    del nbclient
    try:
        document = nbformat.read(chosen.notebook, as_version=4)
    except OSError as error:
        print(f"hai: {chosen.notebook}: {error.strerror}", file=sys.stderr)
        return 1
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        print(f"hai: {chosen.notebook} is not a notebook: {error}", file=sys.stderr)
        return 1
    runner = Runner(document, output, folder=chosen.notebook.resolve().parent)
    return asyncio.run(runner.run())


class Runner:
    """Executes one notebook and keeps its outputs."""

    def __init__(self, document: Any, output: Path, *, folder: Path) -> None:
        self._document = document
        self._output = output
        self._folder = folder
        self._written_at = float("-inf")
        self._told = False
        self._total = sum(1 for cell in document.cells if cell.cell_type == "code" and cell.source.strip())
        self._number = 0
        self._task: asyncio.Task[Any] | None = None

    async def run(self) -> int:
        """Execute it; the exit status."""
        from nbclient.exceptions import CellExecutionError, DeadKernelError

        self._task = task = asyncio.create_task(self._client().async_execute())
        try:
            await task
        except CellExecutionError as error:
            return self._failed(error)
        except (DeadKernelError, asyncio.CancelledError) as error:
            if self._told:
                print("hai: told to leave; the outputs so far are kept", flush=True)
                return TOLD_TO_LEAVE
            print(f"hai: the kernel died: {error}", file=sys.stderr, flush=True)
            return 1
        finally:
            self.write()
        print(f"hai: all {self._total} cells are done; outputs are in {self._output}", flush=True)
        return 0

    def _failed(self, error: Any) -> int:
        if error.ename == "SystemExit":
            # `job.suspended()` and sys.exit() end a notebook as they end a script.
            return int(error.evalue) if error.evalue.lstrip("-").isdigit() else int(error.evalue not in ("", "None"))
        print(error.traceback, flush=True)
        print(f"hai: cell {self._number} of {self._total} failed: {error.ename}: {error.evalue}", flush=True)
        return 1

    def _client(self) -> Any:
        from nbclient import NotebookClient

        runner = self

        class Client(NotebookClient):
            """Shows outputs as they come."""

            def output(self, outs: Any, msg: Any, display_id: Any, cell_index: Any) -> Any:
                out = super().output(outs, msg, display_id, cell_index)
                runner.show(out)
                return out

        return Client(
            self._document,
            timeout=None,
            kernel_name=self._document.metadata.get("kernelspec", {}).get("name", "python3"),
            resources={"metadata": {"path": str(self._folder)}},
            on_notebook_start=lambda **_: self._listen(),
            on_cell_execute=lambda **_: self._begin(),
            on_cell_executed=lambda **_: self.write(),
            on_cell_error=lambda **_: self.write(),
        )

    def _listen(self) -> None:
        # The executor sets its own handler when it starts the kernel; this one comes after it.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._on_leave)

    def _on_leave(self) -> None:
        self._told = True
        if self._task is not None and not _polls():
            self._task.cancel()

    def _begin(self) -> None:
        self._number += 1
        print(f"hai: cell {self._number} of {self._total}", flush=True)

    def show(self, output: Any) -> None:
        """Print an output, if it is text."""
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
    """Whether the notebook's own code asks `job.should_suspend` and will leave by itself."""
    runtime = os.environ.get("HAI_RUNTIME_DIR")
    return runtime is not None and (Path(runtime) / "polling").exists()


if __name__ == "__main__":
    sys.exit(main())
