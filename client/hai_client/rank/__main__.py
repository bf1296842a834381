"""Entry point: `python -m hai_client.rank FOLDER`."""

from __future__ import annotations

import os
import sys

from hai_client.rank.supervisor import main

code = main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.flush()
# Threads may hang in a long poll, and finalising costs milliseconds: nothing is left to clean up.
os._exit(code)
