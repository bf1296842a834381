"""What hostile clients send: bodies that are as costly as a body may be."""

from __future__ import annotations

import hashlib
import json
import time
import zlib

#: Files of a hostile manifest.
FILES = 12_000


def manifest(number: int) -> tuple[str, bytes]:
    """Return the digest and the packed form of a manifest; each number has another one, whose contents nobody has."""
    files = [
        [f"{path:05}.py", "f", 1, hashlib.sha256(f"{number} {path}".encode()).hexdigest()] for path in range(FILES)
    ]
    body = json.dumps({"files": files, "schema": 1}, separators=(",", ":")).encode()
    return hashlib.sha256(body).hexdigest(), zlib.compress(body, 1)


def metrics() -> bytes:
    """Return metrics as large as they may be, of now."""
    now = int(time.time()) // 10 * 10
    names = [f"gpu{gpu}_{what}" for gpu in range(16) for what in ("use", "memory", "power")]
    values = {name: [1.5, 2.5, 3.5] for name in names}
    return json.dumps({"points": [{"at": now - 10 * back, "values": values} for back in range(350, 0, -1)]}).encode()


def wrong_metrics() -> bytes:
    """Return a body that is nothing but faults."""
    return b'{"points":[' + b",".join([b"{}"] * 300_000) + b"]}"


def wrong_task() -> bytes:
    """Return a submission that is nothing but faults."""
    return ("{" + ",".join(f'"{number:x}":0' for number in range(80_000)) + "}").encode()
