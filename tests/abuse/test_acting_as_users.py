"""The platform acts as a user for single files, in one thread, and is itself again afterwards. This needs root."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from hai_client.linux.identity import account_named, acting_as, lacking_rights
from hai_client.linux.processes import PR_SET_PDEATHSIG, prctl

pytestmark = pytest.mark.skipif(bool(lacking_rights()) or os.geteuid() != 0, reason="this needs root")


def test_only_the_thread_that_acts_as_a_user_does_and_only_for_files(tmp_path: Path) -> None:
    other = account_named("nobody")
    assert other is not None
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "secret").chmod(0o600)
    with acting_as(other):
        with pytest.raises(PermissionError):
            (tmp_path / "secret").read_text()
        assert os.geteuid() == 0
    assert (tmp_path / "secret").read_text() == "mine"
    with pytest.raises(RuntimeError, match="within"), acting_as(other):
        raise RuntimeError("within")
    assert (tmp_path / "secret").read_text() == "mine"
    with acting_as(None):
        assert (tmp_path / "secret").read_text() == "mine"


def test_a_process_that_acted_as_another_user_still_hears_of_the_end_of_its_parent() -> None:
    """The kernel clears PR_SET_PDEATHSIG of a process that changes its user for files (prctl(2))."""
    other = account_named("nobody")
    assert other is not None
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        child = os.fork()
        if child == 0:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            with acting_as(other):
                pass
            os.write(writing, b"x")
            time.sleep(600)
            os._exit(0)
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(writing)
    os.waitpid(parent, 0)
    # The last holder of the other end is the grandchild: this returns when it is dead.
    assert os.read(reading, 1) == b""
    os.close(reading)
