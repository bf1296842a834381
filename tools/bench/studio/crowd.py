"""Open pages in a process of their own: `python -m bench.studio.crowd ROOT PAGES SECONDS`.

The pages are opened one after the other within SECONDS; then it prints a line, and for each line on stdin what the
pages have sent and heard since the one before, as JSON. It ends with stdin.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from bench.figures import percentile
from bench.studio.pages import PagesHeard, open_pages
from bench.studio.scene import user

#: Niceness of this process: it is no part of the platform, and should leave the processors to it.
_NICE = 10


async def main(root: str, pages: int, within: float) -> None:
    """Keep the pages open until stdin ends."""
    seen = PagesHeard()
    opened = await open_pages(root, [user(number) for number in range(pages)], seen, within=within)
    print("open", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        if opened.done():
            opened.result()
        print(json.dumps(_told(seen)), flush=True)
        seen.clear()
    opened.cancel()


def _told(seen: PagesHeard) -> dict[str, object]:
    return {
        "asked": dict(seen.asked),
        "refused": dict(seen.refused),
        "bytes": seen.bytes,
        "heard": len(seen.delays),
        "answer_p50": percentile(seen.answers or [0.0], 50),
        "answer_p99": percentile(seen.answers or [0.0], 99),
        "delay_p50": percentile(seen.delays or [0.0], 50),
        "delay_p99": percentile(seen.delays or [0.0], 99),
        "read_again": len(seen.shown),
        "shown_p50": percentile(seen.shown or [0.0], 50),
        "shown_p99": percentile(seen.shown or [0.0], 99),
    }


if __name__ == "__main__":
    os.nice(_NICE)
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
