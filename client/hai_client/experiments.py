"""What the client and the service say alike of experiment files."""

from __future__ import annotations

#: Longest file that is read, in bytes: no experiment comes near it, and reading YAML is slow.
MAX_EXPERIMENT_BYTES = 64 * 1024


def too_large() -> str:
    """What is wrong with a longer one."""
    return f"the file is larger than {MAX_EXPERIMENT_BYTES // 1024} KiB: put what is long into files of its own"
