"""A supervisor that ends when the rehearsal does: `python -m hai_client.rehearsal.child FOLDER PID`."""

from __future__ import annotations

import signal
import sys

from hai_client.linux.processes import end_with_parent
from hai_client.rank.__main__ import start

if __name__ == "__main__":
    # On a cluster a supervisor outlives the service; here it must end when the rehearsal is killed.
    end_with_parent(signal.SIGTERM, int(sys.argv[2]))
    start(sys.argv[1:2])
