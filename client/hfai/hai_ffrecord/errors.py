"""The error for files of records."""

from __future__ import annotations


class FFRecordError(RuntimeError):
    """A file is damaged, incomplete, or not what it is said to be.

    It is a `RuntimeError` because the original reader raises that for a wrong checksum. The text names the file, what
    is wrong in it, and what to do.
    """
