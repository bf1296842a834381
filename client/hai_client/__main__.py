"""`python -m hai_client` is `hai`."""

from __future__ import annotations

import sys

from hai_client.cli import main

if __name__ == "__main__":
    sys.exit(main())
