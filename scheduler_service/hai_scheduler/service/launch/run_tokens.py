"""The token of a run, which allows the requests of that run and nothing else.

The token is a MAC over the run's id, so that a second launch after a crash gets the same token, and no secret is
stored. It is valid only while the run is live, which the caller checks.
"""

from __future__ import annotations

import hashlib
import hmac

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.secret import Secret

_PREFIX = "run"


class RunTokens:
    """Makes and checks run tokens with the service's secret."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret

    def make(self, run_id: RunId) -> Secret:
        """The token of the run: `run:<run id>:<mac>`."""
        return Secret(f"{_PREFIX}:{run_id}:{self._mac(run_id)}")

    def check(self, text: str) -> RunId | None:
        """The id of the run that the token belongs to; None if this service has not made the token."""
        prefix, _, rest = text.partition(":")
        run_id, _, mac = rest.partition(":")
        if prefix != _PREFIX or not mac.isascii():
            return None
        return RunId(run_id) if hmac.compare_digest(mac, self._mac(RunId(run_id))) else None

    def _mac(self, run_id: RunId) -> str:
        return hmac.new(self._secret.reveal().encode(), f"run-token:{run_id}".encode(), hashlib.sha256).hexdigest()
