"""The server of a batch job on rank 0, for `srun`: it takes steps, has every node start its part, and collects output.

Two kinds of clients connect, all of this run: the agent of each node (`hai_slurm.tasks.agent`), and `srun`, once for
each step. A step ends when every node of it has ended; its status is that of the first part that failed.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time

from hai_client.launching.layout import Layout
from hai_client.launching.part import StepPart
from hai_slurm.tasks import wire
from hai_slurm.tasks.strangers import Strangers
from hai_slurm.tasks.wire import Channel, Closed, Output, WireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

#: Time limit for nodes of a step to connect, seconds.
NODES_S = 300.0
#: Exit status of a step that was told to leave, as in shells and Slurm: 128 + SIGTERM.
TOLD = 143


class Step:
    """One step: the connection of its `srun`, its parts, and the nodes that still work on it."""

    def __init__(self, number: int, asked: Channel, parts: Mapping[int, StepPart], *, end_others: bool) -> None:
        self.number = number
        self.asked = asked
        self.parts = dict(parts)
        self.end_others = end_others
        self.left = set(parts)
        self.code = 0


class StepServer:
    """The server of one run.

    Args:
        nodes: Number of ranks of the run.
        told: Whether the run was told to leave: no further step is started then, and none ends another.
    """

    def __init__(self, sock: socket.socket, token: bytes, run_id: str, nodes: int, told: Callable[[], bool]) -> None:
        self._sock = sock
        self._token = token
        self._run_id = run_id
        self._count = nodes
        self._told = told
        self._changed = threading.Condition()
        self._nodes: dict[int, Channel] = {}
        self._steps: dict[int, Step] = {}
        self._next = 0
        self._strangers = Strangers()
        self._over = False

    def begin(self) -> None:
        """Start to listen, in threads of its own."""
        threading.Thread(target=self._listen, name="steps", daemon=True).start()

    def finish(self, code: int, wait_s: float) -> None:
        """Tell all nodes that the job is over, after the steps that still run have been ended.

        Nodes that have not connected yet are waited for: only this server can tell them that the job is over.
        """
        with self._changed:
            self._over = True
            running = list(self._steps.values())
        for step in running:
            self._end(step, step.left)
        end = time.monotonic() + wait_s
        with self._changed:
            while self._steps and self._changed.wait(max(0.0, end - time.monotonic())):
                pass
        told: set[int] = set()
        end = time.monotonic() + NODES_S
        while len(told) < self._count and time.monotonic() < end:
            with self._changed:
                new = {node: channel for node, channel in self._nodes.items() if node not in told}
                if not new:
                    self._changed.wait(end - time.monotonic())
            for node, channel in new.items():
                told.add(node)
                with contextlib.suppress(Closed):
                    channel.send({"over": code})
        self._sock.close()

    def _listen(self) -> None:
        while True:
            try:
                sock, address = self._sock.accept()
            except OSError:
                return
            self._strangers.take(sock, address[0])
            threading.Thread(target=self._greet, args=(sock,), daemon=True).start()

    def _greet(self, sock: socket.socket) -> None:
        channel = None
        try:
            try:
                channel = wire.accept(sock, self._token, self._run_id)
            finally:
                self._strangers.done(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            first = channel.receive()
            if isinstance(first, Output):
                return
            if first.get("role") == "node":
                self._serve_node(channel, int(first["node"]))
            elif first.get("role") == "step":
                self._serve_step(channel)
        except (Closed, OSError):
            pass
        except (WireError, KeyError, TypeError, ValueError) as error:
            # No line for port scanners: only for clients that have proved the token.
            if channel is not None:
                print(f"hai-batch: steps: {error}", file=sys.stderr, flush=True)
        finally:
            if channel is not None:
                channel.close()
            else:
                sock.close()

    # -- nodes ------------------------------------------------------------------------------------

    def _serve_node(self, channel: Channel, node: int) -> None:
        if not 0 <= node < self._count:
            raise WireError(f"there is no node {node}")
        with self._changed:
            self._nodes[node] = channel
            self._changed.notify_all()
        try:
            while True:
                message = channel.receive()
                if isinstance(message, Output):
                    self._print(message)
                elif "ended" in message:
                    self._part_ended(int(message["ended"]), node, int(message["code"]))
        finally:
            with self._changed:
                lost = [step for step in self._steps.values() if node in step.left and self._nodes.get(node) is channel]
                if self._nodes.get(node) is channel:
                    del self._nodes[node]
            for step in lost:
                with contextlib.suppress(Closed):
                    step.asked.send_output(step.number, 2, f"srun: node {node} is gone\n".encode())
                self._part_ended(step.number, node, 1)

    def _print(self, output: Output) -> None:
        with self._changed:
            step = self._steps.get(output.step)
        if step is not None:
            with contextlib.suppress(Closed):
                step.asked.send_output(output.step, output.stream, output.data)

    def _part_ended(self, number: int, node: int, code: int) -> None:
        with self._changed:
            step = self._steps.get(number)
            if step is None or node not in step.left:
                return
            step.left.discard(node)
            first = code != 0 and step.code == 0
            step.code = step.code or code
            others = set(step.left)
            if not others:
                del self._steps[number]
                self._changed.notify_all()
        if not others:
            with contextlib.suppress(Closed):
                step.asked.send({"ended": number, "code": step.code})
        elif first and step.end_others and not self._told():
            self._end(step, others)

    # -- steps ------------------------------------------------------------------------------------

    def _serve_step(self, channel: Channel) -> None:
        request = channel.receive()
        if isinstance(request, Output):
            return
        layout = Layout(request.pop("nodes"), request.pop("counts"))
        if max(layout.nodes) >= self._count or min(layout.nodes) < 0:
            raise WireError(f"the run has nodes 0 to {self._count - 1}")
        if self._told() or self._over:
            why = "the task was told to leave: no further step is started"
            channel.send({"refused": why, "code": TOLD})
            return
        missing = self._wait_for(layout)
        if missing:
            channel.send({"refused": f"nodes {sorted(missing)} did not come within {NODES_S:.0f} s", "code": 1})
            return
        step = self._begin(channel, layout, request)
        try:
            while True:
                message = channel.receive()
                if not isinstance(message, Output) and "signal" in message:
                    self._signal(step, int(message["signal"]))
        finally:
            # The `srun` that asked for the step is gone, or the step is over.
            with self._changed:
                left = set(step.left) if step.number in self._steps else set()
            self._end(step, left)

    def _wait_for(self, layout: Layout) -> set[int]:
        """Wait until all nodes of a step have connected; return the missing ones."""
        end = time.monotonic() + NODES_S
        with self._changed:
            while True:
                missing = set(layout.nodes) - set(self._nodes)
                left = end - time.monotonic()
                if not missing or left <= 0 or self._over:
                    return missing
                self._changed.wait(left)

    def _begin(self, channel: Channel, layout: Layout, request: dict[str, Any]) -> Step:
        with self._changed:
            number = self._next
            self._next += 1
            parts = {
                node: StepPart(layout=layout, index=index, step=str(number), **request)
                for index, node in enumerate(layout.nodes)
            }
            step = Step(number, channel, parts, end_others=bool(request.get("end_others", True)))
            self._steps[number] = step
        channel.send({"started": number})
        for node, part in parts.items():
            self._send(node, {"start": number, "part": part.data()})
        return step

    def _signal(self, step: Step, number: int) -> None:
        with self._changed:
            left = set(step.left)
        for node in left:
            self._send(node, {"step": step.number, "signal": number})

    def _end(self, step: Step, nodes: set[int]) -> None:
        for node in set(nodes):
            self._send(node, {"end": step.number})

    def _send(self, node: int, message: dict[str, Any]) -> None:
        with self._changed:
            channel = self._nodes.get(node)
        if channel is not None:
            with contextlib.suppress(Closed):
                channel.send(message)
