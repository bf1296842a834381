"""A supervisor that ends when the rehearsal does: `python -m hai_client.rehearsal.child FOLDER PID`."""

from __future__ import annotations

import os
import signal
import sys

from hai_client.rank.__main__ import start
from hai_client.rank.processes import PR_SET_PDEATHSIG, prctl

if __name__ == "__main__":
    # On a cluster a supervisor outlives the service; here it must end when the rehearsal is killed.
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(sys.argv[2]):
        sys.exit(1)
    start(sys.argv[1:2])
