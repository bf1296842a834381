"""Errors of haienv. The message of each names the value that is wrong and the remedy."""

from __future__ import annotations

from haienv.shared.masking import masked


class HaienvError(Exception):
    """An error that the user can understand; `exit_code` is the exit status of the command.

    Its message quotes files, options and what programs said: none of their secrets is in it.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class Wrong(HaienvError):
    """The input is wrong."""

    exit_code = 2


class Missing(HaienvError):
    """An environment or a generation does not exist."""


class Busy(HaienvError):
    """Another process builds the environment."""


class BuildFailed(HaienvError):
    """A build has failed; the environment is as it was before."""


class NoSpace(BuildFailed):
    """A program that builds has said that a disk or a quota is full."""


class DiskFull(HaienvError):
    """A disk or a quota is full; nothing has changed."""


class Damaged(HaienvError):
    """The files of a generation differ from its manifest, or the manifest cannot be read."""
