"""The base class of this extension's handlers."""

from __future__ import annotations

import json

from jupyter_server.base.handlers import APIHandler

from hai_lab.problem import Problem


class HaiHandler(APIHandler):
    """A handler whose refusals are problem documents."""

    def initialize(self) -> None:
        """Keep requests of an open panel from counting as activity, so that idle servers can be culled."""
        self._track_activity = self.request.method != "GET"

    def refuse(self, problem: Problem) -> None:
        """Answer with a problem document."""
        self.set_status(problem.status)
        self.finish(json.dumps(problem.document()), set_content_type="application/problem+json")
