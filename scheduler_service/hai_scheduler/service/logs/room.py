"""The room of logs."""

from __future__ import annotations

from hai_scheduler.service.logs.failures import Failures
from hai_scheduler.service.logs.rank_logs import RankLogs
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.orders import ComputePool
from hai_scheduler.service.shared.world import World


class LogsRoom:
    """What tasks print."""

    def __init__(self, world: World, news: News, workers: ComputePool) -> None:
        self.failures = Failures(world)
        self.intake = RankLogs(world)
        self.reading = Logs(world, news, workers)
