"""Writes docs/reference/settings.md: `python -m hai_scheduler.settings_reference > docs/reference/settings.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from traitlets.config import Configurable

from hai_scheduler.config import HaiScheduler, SchedulingPolicy

_INTRODUCTION = """\
# Settings of the scheduler service

<!-- Made by `python -m hai_scheduler.settings_reference` from the settings themselves: change those, not this. -->

Write them into a configuration file, and name it with `hai up --scheduler-config FILE`:

```python
c.SchedulingPolicy.slice = "1h"
c.HaiScheduler.keep_ended = "2160h"
```

Lengths of time are texts such as `90s`, `15m` or `4h`. Options that `hai up` hands to the service (`--state-dir`,
`--port`, and nodes where they are given) win over the file. A wrong value ends the service with one line that names
it. `python -m hai_scheduler --help-all` shows the same list.
"""


def reference() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for section in (HaiScheduler, SchedulingPolicy):
        parts += _section(section)
    return "\n".join(parts).rstrip() + "\n"


def _section(section: type[Configurable]) -> Iterator[str]:
    words: dict[str, str] = {name: f"--{word}" for word, name in HaiScheduler.aliases.items()}
    yield f"## {section.__name__}\n"
    yield f"{(section.__doc__ or '').strip().splitlines()[0]}\n"
    yield from ["| setting | type | default | meaning | option |", "|---|---|---|---|---|"]
    for name, trait in section.class_own_traits(config=True).items():
        kind = {"Unicode": "text", "Int": "whole number"}[type(trait).__name__]
        default = "" if trait.default_value in ("", None) else f"`{trait.default_value}`"
        word = words.get(f"{section.__name__}.{name}")
        yield f"| `{section.__name__}.{name}` | {kind} | {default} | {trait.help} | {f'`{word}`' if word else ''} |"
    yield ""


def main() -> int:
    """Print the page."""
    sys.stdout.write(reference())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
