"""Reads a rank's spec from its folder: `spec.json` and `token`."""
# ruff: noqa: PTH118, PTH123
# Importing pathlib costs milliseconds at every start.

from __future__ import annotations

import json
import os

from hai_client.constants import PROFILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
#: The folder of a rank in a pod.
RUN_DIR = "/hai/run"
SIGNALS = ("TERM", "INT", "USR1", "USR2")


class BadSpec(ValueError):
    """The folder does not describe a rank; the message says what is wrong."""


class Spec:
    """One rank: what to start, where, and how to treat it. Lengths of time are seconds, sizes are bytes."""

    def __init__(self, folder: str, data: dict[str, Any]) -> None:
        #: The folder for this process's files.
        self.folder = folder
        self.log_dir = os.path.join(folder, "log")
        #: The file mode of the log's parts.
        self.log_mode = 0o600
        self.token_file = os.path.join(folder, "token")
        if data.get("schema") != SCHEMA:
            raise BadSpec(f"spec.json: schema is {data.get('schema')!r}; this supervisor reads schema {SCHEMA}")
        try:
            self.run_id = str(data["run_id"])
            self.rank = int(data["rank"])
            self.command = [str(word) for word in data["command"]]
            self.cwd = str(data["cwd"])
            self.env = {str(name): str(value) for name, value in data["env"].items()}
            #: Whether its secrets are in a file beside (`starting.secrets`).
            self.has_secrets = bool(data.get("has_secrets"))
            self.profile = str(data["profile"])
            #: The signal of the notice, without SIG; None: that of the profile.
            self.signal = str(data["signal"]) if data.get("signal") else None
            #: Seconds from this signal to the deadline; None: it is sent with the notice.
            before = data.get("signal_before_s")
            self.signal_before_s = None if before is None else float(before)
            #: Profile auto: how long a job that neither catches a signal nor polls is left alone, seconds.
            self.patience_s = float(data.get("patience_s", 30))
            #: Paths of checkpoints beside HAI_CHECKPOINT_DIR; relative to cwd.
            self.watch = [str(path) for path in data.get("watch") or ()]
            #: The path of the latest checkpoint of the runs before; None: none is known.
            self.checkpoint = str(data["checkpoint"]) if data.get("checkpoint") else None
            self.api_url = str(data["api_url"])
            #: The file in which the service writes its address when it has moved; None: it never moves.
            self.address_file = str(data["address_file"]) if data.get("address_file") else None
            #: The folder where the job finds its notices and leaves its reports.
            self.runtime = str(data.get("runtime_dir") or os.path.join(folder, "runtime"))
            #: The name of the Unix account that the command runs as; None: the account of this process.
            self.account = str(data["account"]) if data.get("account") else None
            self.term_wait_s = float(data.get("term_wait_s", 10))
            self.log_max_bytes = int(data.get("log_max_bytes", 64 * 1024 * 1024))
            self.log_parts = int(data.get("log_parts", 8))
        except KeyError as error:
            raise BadSpec(f"spec.json: field {error.args[0]} is missing") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise BadSpec(f"spec.json: {error}") from None
        if not self.command:
            raise BadSpec("spec.json: command is empty")
        if self.profile not in PROFILES:
            raise BadSpec(f"spec.json: profile is {self.profile!r}; it must be one of {', '.join(PROFILES)}")
        if self.signal is not None and self.signal not in SIGNALS:
            raise BadSpec(f"spec.json: signal is {self.signal!r}; it must be one of {', '.join(SIGNALS)}")

    @classmethod
    def load(cls, folder: str) -> Spec:
        """Read `spec.json`. Raises BadSpec, OSError."""
        return cls(folder, read_spec(folder))

    def token(self) -> str:
        """Return the token for calls to the service; empty if there is none that could be sent."""
        try:
            with open(self.token_file, encoding="ascii") as file:
                text = file.read().strip()
        except (OSError, ValueError):
            return ""
        return text if text.isprintable() else ""


def read_spec(folder: str) -> dict[str, Any]:
    """Return the fields of a folder's `spec.json`. Raises BadSpec, OSError."""
    with open(os.path.join(folder, "spec.json"), encoding="utf-8") as file:
        try:
            data = json.load(file)
        except ValueError as error:
            raise BadSpec(f"spec.json is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadSpec("spec.json is not a JSON object")
    return data
