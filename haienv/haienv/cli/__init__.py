"""The command `haienv`."""

from __future__ import annotations

import os
import sys
from typing import Sequence

from haienv.shared.errors import HaienvError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0 success, 1 it could not be done, 2 wrong input, 130 Ctrl-C."""
    from haienv.cli.parser import parse

    try:
        arguments = parse(sys.argv[1:] if argv is None else list(argv))
        if getattr(arguments, "writes", False):
            # Whatever a shell has set: what is built can be read by those who get in, and written by nobody else.
            os.umask(0o022)
        return int(arguments.run(arguments))
    except HaienvError as error:
        print(f"haienv: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of the output, such as `head`, has enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 141
        # Imported here: it is rare.
        from haienv.shared import space

        if space.is_full(error):
            print(f"haienv: {space.sentence(error, os.environ.get('HAIENV_ROOT') or os.getcwd())}", file=sys.stderr)
            return 1
        named = f"{error.filename}: " if error.filename else ""
        print(f"haienv: {named}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("haienv: interrupted; nothing has changed", file=sys.stderr)
        return 130
