"""Writes docs/reference/settings.md: `python -m hai_scheduler.app.settings_reference > docs/reference/settings.md`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

from traitlets import Undefined
from traitlets.config import Configurable

from hai_scheduler.app.config import HaiScheduler, SchedulingPolicy
from hai_scheduler.app.identity_config import IdentityConfig
from hai_scheduler.app.kubernetes_config import KubernetesSettings
from hai_scheduler.app.limits_config import ApiLimits
from hai_scheduler.app.metrics_config import MetricsLabels
from hai_scheduler.app.notify_config import NotificationSettings
from hai_scheduler.service.shared.policy_numbers import NUMBERS

_INTRODUCTION = """\
# Settings of the scheduler service

<!-- Made by `python -m hai_scheduler.app.settings_reference` from the settings themselves: change those, not this. -->

Write them into a configuration file, and name it with `hai up --scheduler-config FILE`:

```python
c.SchedulingPolicy.slice = "1h"
c.SchedulingPolicy.weights = {"alice": 2.0}
c.SchedulingPolicy.groups = {"debug": {"slice": "10m", "min_run": "2m"}}
c.HaiScheduler.keep_ended = "2160h"
```

Lengths of time are texts such as `90s`, `15m` or `4h`. Options that `hai up` passes to the service (`--state-dir`,
`--port`, and nodes where they are given) win over the file. A wrong value ends the service with one line that names
it. `python -m hai_scheduler --help-all` shows the same list.

The numbers of `SchedulingPolicy` are what the service starts with. Admins change them while it runs
(`hai admin policy set`), and `hai policy` shows what is in force and where it comes from. A number that is written
for a node group wins over one that is written for all; otherwise what an admin has set wins over the configuration.
"""


_KINDS = {
    "Unicode": "text",
    "Bool": "true or false",
    "Int": "whole number",
    "Float": "number",
    "Dict": "table",
    "Enum": "choice",
    "List": "list",
}
#: Policy numbers stand in the order of their table.
_PLACES = {number.name: place for place, number in enumerate(NUMBERS)}


def reference() -> str:
    """The text of the page."""
    parts = [_INTRODUCTION]
    for section in (
        HaiScheduler,
        SchedulingPolicy,
        ApiLimits,
        MetricsLabels,
        NotificationSettings,
        KubernetesSettings,
        IdentityConfig,
    ):
        parts += _section(section)
    return "\n".join(parts).rstrip() + "\n"


def _section(section: type[Configurable]) -> Iterator[str]:
    words: dict[str, str] = {name: f"--{word}" for word, name in HaiScheduler.aliases.items()}
    yield f"## {section.__name__}\n"
    yield f"{inspect.getdoc(section)}\n"
    yield from ["| setting | type | default | meaning | option |", "|---|---|---|---|---|"]
    traits = section.class_own_traits(config=True)
    for name in sorted(traits, key=lambda name: (_PLACES.get(name, len(_PLACES)), name)):
        trait = traits[name]
        kind = _KINDS[type(trait).__name__]
        value = trait.default()
        default = "" if value in ("", None, Undefined, [], {}) else f"`{value}`"
        word = words.get(f"{section.__name__}.{name}")
        yield f"| `{section.__name__}.{name}` | {kind} | {default} | {trait.help} | {f'`{word}`' if word else ''} |"
    yield ""


def main() -> int:
    """Print the page to standard output."""
    sys.stdout.write(reference())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
