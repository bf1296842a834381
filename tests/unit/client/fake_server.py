"""The fake platform over real HTTP, in this process."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from unit.client import (
    fake_cluster,
    fake_hub,
    fake_notifications,
    fake_pages,
    fake_people,
    fake_reports,
    fake_secrets,
    fake_storage,
    fake_tasks,
)
from unit.client.fake_platform import API, AT, TOKEN, Call, Drop, FakePlatform, Refuse, find, run_of, whole
from unit.client.fake_tasks import line

_ROUTES = (
    *fake_pages.ROUTES,
    *fake_tasks.ROUTES,
    *fake_cluster.ROUTES,
    *fake_storage.ROUTES,
    *fake_reports.ROUTES,
    *fake_secrets.ROUTES,
    *fake_notifications.ROUTES,
    *fake_hub.ROUTES,
    *fake_people.ROUTES,
)


class _Handler(BaseHTTPRequestHandler):
    platform: FakePlatform

    def log_message(self, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        call = self._call()
        platform = self.platform
        with platform.lock:
            platform.calls.append(call)
        try:
            if platform.before:
                platform.before.pop(0)(call)
            self._authorize(call)
            if "text/event-stream" in call.headers.get("accept", ""):
                self._stream(call)
                return
            status, answer = self._route(call)
            if platform.after:
                platform.after.pop(0)(call)
            self._answer(status, answer, "application/json")
        except Refuse as refusal:
            hub = refusal.document["code"] == "hub"
            document = {"status": refusal.status, "message": str(refusal)} if hub else refusal.document
            kind = "application/json" if hub else "application/problem+json"
            self._answer(refusal.status, document, kind, refusal.retry_after)
        except Drop:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

    def _call(self) -> Call:
        parts = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body: Any = content.decode()
        if headers.get("content-type") == "application/json":
            body = json.loads(content)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return Call(self.command, parts.path, query, headers, whole(parts.path, body))

    def _authorize(self, call: Call) -> None:
        given = call.headers.get("authorization")
        if call.path.startswith(API) and not call.path.endswith("/health") and given != f"Bearer {TOKEN}":
            raise Refuse(401, "unauthorized", "token: not accepted; run `hai login`")

    def _route(self, call: Call) -> tuple[int, Any]:
        for method, pattern, handler in _ROUTES:
            match = re.fullmatch(pattern, call.path)
            if match and method == call.method:
                with self.platform.lock:
                    return handler(self.platform, call, *(unquote(part) for part in match.groups()))
        raise Refuse(404, "not_found", f"nothing at {call.path}")

    def _answer(self, status: int, answer: Any, kind: str, retry_after: int | None = None) -> None:
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        if self.platform.version is not None:
            self.send_header("HAI-Version", self.platform.version.decode("latin-1"))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, call: Call) -> None:
        content = b"".join(self._messages(call))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if self.platform.cut_streams:
            content = content[: self.platform.cut_streams.pop(0)]
        self.wfile.write(content)

    def _messages(self, call: Call) -> Iterator[bytes]:
        last = call.headers.get("last-event-id")
        if call.path.endswith("/policy/try"):
            yield self._route(call)[1].encode()
            return
        if call.path.endswith("/events"):
            yield b'event: hello\ndata: {"seq": 0}\n\n'
            for event in self.platform.events:
                if int(event["seq"]) > int(last or 0):
                    yield f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n".encode()
            return
        task = find(self.platform, unquote(call.path.split("/")[-2]))
        yield b": keep-alive\n\n"
        start = int((last or call.query.get("cursor") or "1:0").split(":")[1])
        for at, text in enumerate(self.platform.logs[task["id"]]):
            if at >= start:
                yield f"id: 1:{at + 1}\nevent: line\ndata: {json.dumps(line(text))}\n\n".encode()
        task.update(state=self.platform.outcome, verdict=None, message="its command ended")
        if self.platform.failure is not None:
            task.update(failure=self.platform.failure, run_count=1)
        yield b"event: end\ndata: {}\n\n"


def serve() -> tuple[FakePlatform, ThreadingHTTPServer]:
    platform = FakePlatform()
    handler = type("Handler", (_Handler,), {"platform": platform})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    platform.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return platform, server


if __name__ == "__main__":
    import time

    shown, _ = serve()
    ended = "2026-11-21T05:15:00Z"
    shown.add("llm-pretrain-7b", state="running", node_names=["node-1"], verdict=None, run_count=3, served_s=7080,
              checkpoint={"at": AT, "step": 1200, "path": "/shared/ckpt/1200"}, runs=[
                  run_of(1), run_of(2, reason="node_lost", left="ended", lost_s=900),
                  run_of(3, state="running", ended_at=None, reason=None, left=None, lost_s=None)],
              message="runs on node-1 since 14 minutes")  # fmt: skip
    shown.add("digits", nodes=2)
    shown.add("ablation-lr-0.1", held=True, priority="HIGH", effective_priority="HIGH")
    shown.add("old", state="failed", verdict=None, ended_at=ended, message="its command failed with status 1 on rank 0")
    shown.logs = {41: ["one", "two loss", "[hai] run 2 starts on node-1"], 42: ["a"], 43: [], 44: ["boom"]}
    print(f"export HAI_URL={shown.url} HAI_TOKEN={TOKEN}", flush=True)
    while True:
        time.sleep(60)
