"""Writes the client's and the panel's files on the wire: `python -m hai_scheduler.api.bindings [--check]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hai_scheduler.api.bindings.plan import files


def stale(root: Path) -> list[str]:
    """Return the paths of generated files in a checkout that differ from what would be written now."""
    return [path for path, text in files().items() if _read(root / path) != text]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with `--check` print which are out of date. Returns the exit status: 1 if any is."""
    parser = argparse.ArgumentParser(prog="python -m hai_scheduler.api.bindings", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a file is out of date")
    parser.add_argument("--root", type=Path, default=Path(), help="root of the checkout (default: this folder)")
    options = parser.parse_args(arguments)
    out_of_date = stale(options.root)
    if options.check:
        for path in out_of_date:
            sys.stderr.write(f"{path} is not what the models of the service say: run `make reference`\n")
        return 1 if out_of_date else 0
    written = files()
    for path in out_of_date:
        (options.root / path).write_text(written[path], encoding="utf-8")
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
