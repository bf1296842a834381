"""What the handlers of this extension share."""

from __future__ import annotations

import json

from jupyter_server.base.handlers import APIHandler

from hai_lab.problem import Problem


class HaiHandler(APIHandler):
    """A handler whose refusals are problem documents."""

    def initialize(self) -> None:
        """Keep a panel that only watches from counting as activity: idle servers must stay cullable."""
        self._track_activity = self.request.method != "GET"

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem document."""
        self.set_status(problem.status)
        self.finish(json.dumps(problem.document()), set_content_type="application/problem+json")
