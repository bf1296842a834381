"""The limit on the size of experiment files, and its message, for client and service."""

from __future__ import annotations

#: Size of the largest file that is read, bytes. Real experiments are far smaller, and reading YAML is slow.
MAX_EXPERIMENT_BYTES = 64 * 1024


def too_large() -> str:
    """Return the message for a file that is larger."""
    return f"the file is larger than {MAX_EXPERIMENT_BYTES // 1024} KiB: put what is long into files of its own"
