"""Train a small network on scikit-learn's digits, data parallel over the ranks of a task.

    hai submit --nodes 2 -- python train_digits.py --epochs 40

It shows what a job does to share its nodes: it asks at every step whether it must leave, saves, says so, and goes
on from there when it is started again. However often and whenever that happens, the trained weights are the same
to the last bit. Outside the platform it is a plain script.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from hai_client import job

Array = NDArray[np.float64]
SHAPES = ((64, 48), (48,), (48, 10), (10,))
MOMENTUM = 0.9


class Ranks:
    """The ranks of the task, summing arrays through rank 0. Sums are made in rank order, so they are exact repeats."""

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        address = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "29500")))
        self._peers: list[socket.socket] = []
        if self.size > 1:
            self._peers = self._accept(address[1]) if self.rank == 0 else [self._connect(address)]

    def _accept(self, port: int) -> list[socket.socket]:
        peers: dict[int, socket.socket] = {}
        with socket.create_server(("", port), backlog=self.size) as server:
            server.settimeout(120)
            while len(peers) < self.size - 1:
                peer, _ = server.accept()
                peer.settimeout(None)
                peers[int.from_bytes(_receive(peer, 4), "big")] = peer
        return [peers[rank] for rank in sorted(peers)]

    def _connect(self, address: tuple[str, int]) -> socket.socket:
        end = time.monotonic() + 120
        while True:
            try:
                peer = socket.create_connection(address, timeout=5)
            except OSError:
                # Rank 0 may be slower to start.
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
                continue
            peer.settimeout(None)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.sendall(self.rank.to_bytes(4, "big"))
            return peer

    def sum(self, values: Array) -> Array:
        """Return the sum of all ranks' values, the same on every rank."""
        if self.rank != 0:
            self._peers[0].sendall(values.tobytes())
            return _read(self._peers[0], values)
        total = values.copy()
        for peer in self._peers:
            total += _read(peer, values)
        for peer in self._peers:
            peer.sendall(total.tobytes())
        return total

    def any(self, flag: bool) -> bool:
        """Return whether the flag of any rank is set."""
        return bool(self.sum(np.array([float(flag)]))[0])


def _read(peer: socket.socket, like: Array) -> Array:
    return np.frombuffer(_receive(peer, like.nbytes), dtype=like.dtype).reshape(like.shape).copy()


def _receive(peer: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = peer.recv(size - len(data))
        if not piece:
            raise ConnectionError("another rank has gone")
        data += piece
    return bytes(data)


@dataclass
class State:
    """The state of the training at a step."""

    weights: list[Array]
    momentum: list[Array]
    #: Steps done in all.
    step: int = 0
    #: Sum of the losses of this epoch so far.
    loss: float = 0.0
    #: The options that must not change between two runs.
    options: str = field(default="")

    @classmethod
    def new(cls, seed: int, options: str) -> State:
        """Return a state with random weights."""
        random = np.random.default_rng(seed)
        weights = [random.normal(0, 0.1, shape) if len(shape) > 1 else np.zeros(shape) for shape in SHAPES]
        return cls(weights, [np.zeros(shape) for shape in SHAPES], options=options)

    def save(self, path: Path) -> None:
        """Write the state completely or not at all: a job can be killed at any moment."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".tmp")
        content: dict[str, Any] = {"step": self.step, "loss": self.loss, "options": self.options}
        content |= {f"w{index}": weight for index, weight in enumerate(self.weights)}
        content |= {f"m{index}": momentum for index, momentum in enumerate(self.momentum)}
        with draft.open("wb") as file:
            np.savez(file, **content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    @classmethod
    def load(cls, path: Path, options: str) -> State:
        """Read a state. Stops the program if it was made with other options."""
        with np.load(path, allow_pickle=False) as data:
            if str(data["options"]) != options:
                raise SystemExit(f"{path} was made with {data['options']}, not {options}; choose another --checkpoint")
            count = range(len(SHAPES))
            weights, momentum = [data[f"w{i}"] for i in count], [data[f"m{i}"] for i in count]
            return cls(weights, momentum, int(data["step"]), float(data["loss"]), options)


def forward(weights: list[Array], images: Array) -> tuple[Array, Array]:
    """Return hidden activations and class probabilities, for each image a row."""
    hidden = np.maximum(images @ weights[0] + weights[1], 0)
    scores = hidden @ weights[2] + weights[3]
    exp = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, exp / exp.sum(axis=1, keepdims=True)


def gradients(weights: list[Array], images: Array, labels: NDArray[np.int64]) -> list[Array]:
    """Return sums over the images: the loss, then the gradient of each weight."""
    hidden, probabilities = forward(weights, images)
    rows = np.arange(len(labels))
    loss = -np.log(probabilities[rows, labels] + 1e-12).sum()
    error = probabilities.copy()
    error[rows, labels] -= 1
    back = (error @ weights[2].T) * (hidden > 0)
    return [np.array([loss]), images.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]


def train(options: argparse.Namespace) -> None:
    """Train until the last epoch, or until the task must leave."""
    ranks = Ranks()
    digits = load_digits()
    images, labels = digits.data / 16.0, digits.target
    train_count = 1437
    steps = train_count // options.batch
    fixed = f"batch={options.batch} lr={options.lr} seed={options.seed} ranks={ranks.size}"
    if options.checkpoint.exists():
        state = State.load(options.checkpoint, fixed)
        print(f"resumed at epoch {state.step // steps + 1}, step {state.step % steps}", flush=True)
    else:
        state = State.new(options.seed, fixed)

    while state.step < options.epochs * steps:
        epoch, step = divmod(state.step, steps)
        order = np.random.default_rng((options.seed, epoch)).permutation(train_count)
        batch = order[step * options.batch : (step + 1) * options.batch][ranks.rank :: ranks.size]
        parts = gradients(state.weights, images[batch], labels[batch])
        flat = ranks.sum(np.concatenate([part.ravel() for part in parts])) / options.batch
        update(state, flat, options.lr)
        time.sleep(options.seconds_per_epoch / steps)
        if state.step % steps == 0:
            finish_epoch(state, epoch, steps, images[train_count:], labels[train_count:], ranks, options)
        if not options.ignore_notice and job.should_suspend(ranks.any):
            if ranks.rank == 0:
                state.save(options.checkpoint)
                print(f"saved at epoch {state.step // steps + 1}, step {state.step % steps}", flush=True)
            ranks.any(False)  # no rank may report done before rank 0 has saved
            job.suspended(step=state.step, path=options.checkpoint)

    if ranks.rank == 0:
        digest = hashlib.sha256(b"".join(weight.tobytes() for weight in state.weights)).hexdigest()
        print(f"weights sha256 {digest}", flush=True)


def update(state: State, flat: Array, lr: float) -> None:
    """One step of gradient descent with momentum."""
    state.loss += float(flat[0])
    start = 1
    for index, shape in enumerate(SHAPES):
        size = int(np.prod(shape))
        state.momentum[index] = MOMENTUM * state.momentum[index] - lr * flat[start : start + size].reshape(shape)
        state.weights[index] = state.weights[index] + state.momentum[index]
        start += size
    state.step += 1


def finish_epoch(
    state: State,
    epoch: int,
    steps: int,
    images: Array,
    labels: NDArray[np.int64],
    ranks: Ranks,
    options: argparse.Namespace,
) -> None:
    """Print loss and accuracy of an epoch, and save every `save_every` epochs."""
    if ranks.rank == 0:
        accuracy = float((forward(state.weights, images)[1].argmax(axis=1) == labels).mean())
        print(
            f"epoch {epoch + 1}/{options.epochs} loss {state.loss / steps:.4f} accuracy {accuracy:.4f}",
            flush=True,
        )
    state.loss = 0.0
    if options.save_every and (epoch + 1) % options.save_every == 0 and ranks.rank == 0:
        state.save(options.checkpoint)
        job.saved(step=state.step, path=options.checkpoint)


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description="Train a small network on scikit-learn's digits.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64, help="images per step over all ranks")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds-per-epoch", type=float, default=0.0, help="slow down, to watch it")
    parser.add_argument("--save-every", type=int, default=5, help="epochs between two checkpoints; 0 is never")
    parser.add_argument("--checkpoint", type=Path, default=job.checkpoint_dir / "digits.npz")
    parser.add_argument("--ignore-notice", action="store_true", help="be a job that does not save when told to leave")
    options = parser.parse_args()
    if options.ignore_notice:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    train(options)


if __name__ == "__main__":
    main()
