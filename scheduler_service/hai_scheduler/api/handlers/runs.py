"""What the ranks of a run ask and report, and orphaned runs, which belong to no task of the database."""

from __future__ import annotations

from hai_scheduler.api.convert import tasks as convert
from hai_scheduler.api.convert.profiles import order_out
from hai_scheduler.api.server.problems import Refused, gone
from hai_scheduler.api.server.route import Ask, RawBytes
from hai_scheduler.api.wire.logs import LogTaken
from hai_scheduler.api.wire.params import GangQuery, LogPieceQuery, Nothing, NoticeQuery
from hai_scheduler.api.wire.runs import Addresses, NoticeAnswer, OrphanList, OrphanOut, RankReport, RunFactsOut
from hai_scheduler.ports.errors import OffsetMismatch
from hai_scheduler.service.origin.orphan_registry import OrphanedRun
from hai_scheduler.service.shared.errors import Conflict, Invalid, NotFound


async def orphans(ask: Ask[Nothing, Nothing]) -> OrphanList:
    """Return all orphaned runs."""
    return OrphanList(items=[_orphan_out(orphan) for orphan in await ask.platform.orphans.show(ask.caller)])


async def end_orphan(ask: Ask[Nothing, Nothing]) -> OrphanOut:
    """End an orphaned run."""
    return _orphan_out(await ask.platform.orphans.end(ask.caller, ask.path["run_id"]))


def _orphan_out(orphan: OrphanedRun) -> OrphanOut:
    return OrphanOut(
        run=orphan.run_id,
        origin=None if orphan.origin is None else str(orphan.origin),
        user=orphan.user,
        nodes=list(orphan.nodes),
        live=orphan.live,
        ending=orphan.ending,
    )


async def facts(ask: Ask[Nothing, Nothing]) -> RunFactsOut:
    """Return the user, the task and the address of the run. Raises Refused: 410 when it is over."""
    try:
        return RunFactsOut.model_validate(await ask.platform.runs.registry.facts(ask.run))
    except Conflict as error:
        raise gone(error) from None


async def notice(ask: Ask[NoticeQuery, Nothing]) -> NoticeAnswer:
    """Return the notice of the run, if it must leave; waits for a newer one if asked to."""
    query = ask.query
    try:
        told, order = await ask.platform.runs.reports.notice(
            ask.run, query.rank, seen=query.seen, wait=query.wait, recording=query.recording
        )
    except (Conflict, NotFound) as error:
        raise gone(error) from None
    return NoticeAnswer(
        notice=None if told is None else convert.notice_out(told),
        recording=None if order is None else order_out(order),
    )


async def addresses(ask: Ask[GangQuery, Nothing]) -> Addresses:
    """Return the addresses of all ranks once every rank is up."""
    try:
        found = await ask.platform.runs.rendezvous.addresses(ask.run, ask.query.rank, wait=ask.query.wait)
    except Conflict as error:
        raise gone(error) from None
    return Addresses(addresses=None if found is None else list(found))


async def report(ask: Ask[Nothing, RankReport]) -> None:
    """Take a report on a rank."""
    rank = ask.number("rank")
    if ask.body.at.tzinfo is None:
        raise Invalid("at", str(ask.body.at), "needs a time zone: end it with Z")
    try:
        if ask.body.kind == "machine":
            await ask.platform.runs.images.take(ask.run, rank, ask.body.machine or "", ask.body.glibc or "")
        else:
            await ask.platform.runs.reports.report(ask.run, rank, convert.report_of(ask.body, ask.body.kind))
    except (Conflict, NotFound) as error:
        raise gone(error) from None


async def take_log(ask: Ask[LogPieceQuery, RawBytes]) -> LogTaken:
    """Store a piece of a rank's log. Raises Refused: 409 with the right offset if it does not fit."""
    rank, query = ask.number("rank"), ask.query
    try:
        end = await ask.platform.logs.intake.take(
            ask.run, rank, offset=query.offset, data=bytes(ask.body), skip=query.skip
        )
    except Conflict as error:
        raise gone(error) from None
    except OffsetMismatch as error:
        detail = f"The log goes on at {error.expected}, not at {query.offset}: send it from there."
        raise Refused("conflict", detail, {"Upload-Offset": str(error.expected)}) from None
    return LogTaken(next=end)
