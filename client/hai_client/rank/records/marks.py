"""Marks lines of a command that look like the platform's own lines."""

from __future__ import annotations

import re

from hai_client.rank.records.splitter import MARK

#: Control sequences of terminals, and invisible characters.
_UNSEEN = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
    rb"|[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f\xad]"
    rb"|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
)
_BLANK = re.compile(rb"(?:[ \t]|\xc2\xa0|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe3\x80\x80)+")


def unlike_ours(line: bytes) -> bytes:
    """Return the line with a backslash before it if it looks like the platform's on a terminal; else unchanged.

    Control sequences are removed from such a line: they could move the mark to the beginning of the line.
    """
    if MARK not in line:
        return line
    seen = _UNSEEN.sub(b"", line)
    return line if seen == line and not _BLANK.sub(b"", line).startswith(MARK) else b"\\" + seen
