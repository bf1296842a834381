"""What the supervisors of ranks ask and report. A run that is over is gone for good: 410."""

from __future__ import annotations

from hai_scheduler.api import convert
from hai_scheduler.api.params import Nothing, NoticeQuery
from hai_scheduler.api.problems import gone
from hai_scheduler.api.route import Ask
from hai_scheduler.api.schemas import NoticeAnswer, RankReport
from hai_scheduler.service.errors import InTheWay, Invalid, Unknown


async def notice(ask: Ask[NoticeQuery, Nothing]) -> NoticeAnswer:
    """Must this run leave?"""
    query = ask.query
    try:
        told = await ask.services.jobs.notice(ask.run, query.rank, seen=query.seen, wait=query.wait)
    except (InTheWay, Unknown) as error:
        raise gone(error) from None
    return NoticeAnswer(notice=None if told is None else convert.notice_out(told))


async def report(ask: Ask[Nothing, RankReport]) -> None:
    """Something has happened to a rank."""
    text = ask.path["rank"]
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise Invalid("rank", text, "is not the number of a rank")
    if ask.body.at.tzinfo is None:
        raise Invalid("at", str(ask.body.at), "needs a time zone: end it with Z")
    try:
        await ask.services.jobs.report(ask.run, int(text), convert.report_of(ask.body))
    except (InTheWay, Unknown) as error:
        raise gone(error) from None
