"""What files of environments the service reads: regular ones of a bounded size."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from hai_scheduler.ports.haienvs import HaienvFault

#: The longest manifest, lock or env.toml that is read, bytes: they are much shorter.
LONGEST: Final = 4 * 1024 * 1024


def regular(path: Path) -> None:
    """Raise HaienvFault for what cannot be such a file: reading it might never end. Raises OSError too."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > LONGEST:
        raise HaienvFault(f"{path}: is no file of at most {LONGEST} bytes")
