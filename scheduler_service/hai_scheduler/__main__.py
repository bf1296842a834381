"""`python -m hai_scheduler`: the scheduler service. JupyterHub starts it; see docs/operations.md."""

from __future__ import annotations

import asyncio
import sys


def main(argv: list[str]) -> int:
    """Run the service; returns the exit status: 2 for wrong settings, with one line that says what to change."""
    try:
        from hai_client.calm import log_to_stderr
        from hai_client.lean_imports import imports_for_good
        from hai_client.masking import masked

        with imports_for_good():
            from hai_scheduler.adapters.local.nodes import NodesError
            from hai_scheduler.app.config import ConfigError, HaiScheduler
            from hai_scheduler.app.listening import CannotListen
            from hai_scheduler.app.serve import serve
            from hai_scheduler.ports.errors import Temporary
            from hai_scheduler.store.refusal import StateUnusable
            from hai_scheduler.store.revision import StateDamaged, StateOfOtherVersion
    except ModuleNotFoundError as error:
        print(f"hai-scheduler: {error.name} is missing: pip install 'hai-platform[scheduler]'", file=sys.stderr)
        return 2
    log_to_stderr("%(asctime)s %(levelname).1s %(name)s: %(message)s")
    try:
        asyncio.run(serve(HaiScheduler().settings(argv)))
    except (ConfigError, NodesError, StateDamaged, StateOfOtherVersion, StateUnusable) as error:
        print(f"hai-scheduler: {masked(str(error))}", file=sys.stderr)
        return 2
    except CannotListen as error:
        print(f"hai-scheduler: {masked(str(error))}", file=sys.stderr)
        return 1
    except Temporary as error:
        print(f"hai-scheduler: {masked(str(error))}; start it again when it can be reached", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
