"""The protocol by which PyTorch's profiler (kineto) asks a daemon on its machine whether it is to record.

Stock PyTorch speaks it when `KINETO_USE_DAEMON` is set: each process sends datagrams to the Unix socket `dynolog` in
the folder `KINETO_IPC_SOCKET_DIR`, and gets the text of a configuration back. A message is its size (uint64), its type
(32 bytes, filled up with zero bytes), and its body.

| type | body | answer |
|---|---|---|
| `ctxt` | int32 GPU, int32 pid, int64 job | int32: how many processes are known |
| `req` | int32 kind, int32 n, int64 job, int32 pids[n] of the process and its parents | text; empty: nothing |

Messages come from the user's code. Here is only their form: nothing is sent, opened or believed.
"""

from __future__ import annotations

import struct

#: The name of the daemon's socket, and how names of the sockets begin from which processes ask.
SOCKET = "dynolog"
CLIENTS = "dynoconfigclient"
#: The longest message that is read, bytes: a `req` with all parents of a process has some hundred.
LONGEST = 4096
#: Parents of a process in a message, at most.
MOST_PIDS = 256
REGISTER, ASK = b"ctxt", b"req"
#: The bit in the kind of a `req` of a process that records nothing at the moment.
TRACES = 2

_HEAD = struct.Struct("<Q32s")
_BODY = struct.Struct("<iiq")
_NUMBER = struct.Struct("<i")


class BadMessage(ValueError):
    """The bytes are not of the protocol."""


class KinetoMessage:
    """A message of a process: its type, and whether it could begin a trace now."""

    __slots__ = ("free", "kind")

    def __init__(self, kind: bytes, *, free: bool) -> None:
        self.kind = kind
        self.free = free


def parse(data: bytes) -> KinetoMessage:
    """Read a message. Raises BadMessage."""
    if len(data) < _HEAD.size + _BODY.size:
        raise BadMessage("it is too short")
    size, name = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if size != len(body):
        raise BadMessage("its size is not what it says")
    kind = name.rstrip(b"\0")
    first, second, _ = _BODY.unpack_from(body)
    if kind == REGISTER:
        if len(body) != _BODY.size:
            raise BadMessage("it is too long")
        return KinetoMessage(kind, free=False)
    if kind == ASK:
        if not 0 < second <= MOST_PIDS or len(body) != _BODY.size + second * _NUMBER.size:
            raise BadMessage("its list of processes does not fit")
        return KinetoMessage(kind, free=bool(first & TRACES))
    raise BadMessage("its type is unknown")


def registered(count: int) -> bytes:
    """Return the answer to a process that has registered."""
    return _HEAD.pack(_NUMBER.size, REGISTER) + _NUMBER.pack(count)


def answer(text: str) -> bytes:
    """Return the answer to a process that asks: a configuration, or an empty text."""
    body = text.encode("ascii")
    return _HEAD.pack(len(body), ASK) + body


def configuration(file: str, *, starts_ms: int, seconds: float, steps: int | None, memory: bool) -> str:
    """Return the configuration of a recording.

    Args:
        file: Where the trace is to be written. Kineto puts the pid before the end of the name.
        starts_ms: When it begins, Unix time in milliseconds; 0: at once.
        seconds: Its length.
        steps: Its length in steps of the optimizer, instead.
        memory: Whether allocations are recorded.
    """
    lines = [f"ACTIVITIES_LOG_FILE={file}", "ACTIVITIES_WARMUP_PERIOD_SECS=1"]
    if steps is None:
        lines += [f"PROFILE_START_TIME={starts_ms}", f"ACTIVITIES_DURATION_MSECS={round(seconds * 1000)}"]
    else:
        lines += [
            "PROFILE_START_ITERATION=0",
            f"PROFILE_START_ITERATION_ROUNDUP={steps}",
            f"ACTIVITIES_ITERATIONS={steps}",
        ]
    if memory:
        lines.append("PROFILE_PROFILE_MEMORY=true")
    return "\n".join(lines) + "\n"
