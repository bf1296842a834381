"""Fields of a submission that are asked for, and shown, by their definition alone.

Written by `make reference` from the models of the service: change those, not this.
"""

from __future__ import annotations

from hai_client.cli.language.catalogue import label
from hai_client.cli.shared.asked import TaskOption

ASKED_FIELDS = (
    TaskOption(
        name="retries",
        kind="number",
        words=(),
        least=0,
        most=100,
        default=0,
        label=lambda: label("Retries"),
        help="how often it starts again if its command fails",
    ),
)
