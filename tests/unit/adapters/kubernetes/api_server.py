"""An API server in this process: enough of one to see what a client does when all goes well, and when it does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration

from hai_scheduler.adapters.kubernetes.client import KubernetesApi
from hai_scheduler.ports.clock import Clock
from kit.admission import Admission
from unit.adapters.kubernetes.things import unlocated

Thing = dict[str, Any]
NAMESPACE = "runs"
VERBS = {"DELETE": "delete", "GET": "get", "PATCH": "patch", "POST": "create"}


def verb_of(method: str, *, name: str, watch: bool) -> str:
    """The verb by which the API server's authorizers know a request."""
    if method == "GET" and not name:
        return "watch" if watch else "list"
    return "deletecollection" if method == "DELETE" and not name else VERBS[method]


class ApiServer:
    """Objects by kind and name, their history for watches, and faults that are to happen."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Thing]] = {
            kind: {} for kind in ("pods", "services", "secrets", "nodes", "configmaps")
        }
        #: Every request: method and path.
        self.asked: list[tuple[str, str]] = []
        #: The rights that requests needed: kind, verb, and the name of the object (empty: none was named).
        self.used: set[tuple[str, str, str]] = set()
        #: Answers that replace the usual ones: method, end of the path, status, headers, how often.
        self.faults: list[list[Any]] = []
        #: Verbs and resources that are forbidden to the account.
        self.forbidden: set[tuple[str, str]] = set()
        #: What the rules of the namespace refuse.
        self.admission = Admission()
        self.namespaces = {NAMESPACE}
        #: How kubelets end pods: "1.20" removes one that has not started; "1.27" and newer give it a last phase before.
        self.kubelet = "1.20"
        #: Watches from before this version have expired.
        self.oldest = 0
        self._version = 10
        self._history: list[tuple[int, str, Thing]] = []
        self._changed = asyncio.Event()
        self._watches: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None
        self._port = 0

    # -- the world ----------------------------------------------------------------------------------------

    def put(self, kind: str, thing: Thing, word: str = "") -> Thing:
        """Create or change an object."""
        name = thing["metadata"]["name"]
        self._version += 1
        known = self.objects[kind].get(name)
        thing = json.loads(json.dumps(thing))
        thing["metadata"].setdefault("uid", known["metadata"]["uid"] if known else f"uid-{self._version}")
        thing["metadata"]["resourceVersion"] = str(self._version)
        thing["metadata"].setdefault("creationTimestamp", datetime.now(UTC).isoformat())
        self.objects[kind][name] = thing
        self._tell(kind, word or ("MODIFIED" if known else "ADDED"), thing)
        return thing

    def remove(self, kind: str, name: str) -> None:
        """Remove an object for good."""
        self._version += 1
        thing = self.objects[kind].pop(name)
        last = {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(self._version)}}
        self._tell(kind, "DELETED", last)

    def status(self, name: str, **status: Any) -> None:
        """Give a pod a status."""
        pod = self.objects["pods"][name]
        pod["spec"].setdefault("nodeName", "node-1")
        self.put("pods", {**pod, "status": status})

    def delete_pod(self, name: str, *, grace: int) -> None:
        """Delete a pod as the API server and its kubelet do: one that runs is only told to end."""
        pod = self.objects["pods"][name]
        status = pod.get("status") or {}
        phase = status.get("phase")
        told = phase == "Running" or (self.kubelet != "1.20" and phase == "Pending" and pod["spec"].get("nodeName"))
        if told:
            marks = {"deletionTimestamp": "2026-01-05T08:05:00Z", "deletionGracePeriodSeconds": grace}
            pod = self.put("pods", {**pod, "metadata": {**pod["metadata"], **marks}})
        if phase == "Running":
            return
        if told:
            self.put("pods", {**pod, "status": {**status, "phase": "Failed", **unlocated()}})
        self.remove("pods", name)

    def fail(self, method: str, path_end: str, status: int, times: int = 1, **more: Any) -> None:
        """Answer the next such requests with an error; `headers` and `body` if wanted."""
        self.faults.append([method, path_end, status, times, more])

    def made(self, kind: str) -> set[str]:
        """The names of all objects of a kind that were ever made."""
        told = (event for _, which, event in self._history if which == kind)
        return {event["object"]["metadata"]["name"] for event in told if event["type"] == "ADDED"}

    def count(self, method: str, path_end: str) -> int:
        """The number of such requests."""
        return sum(1 for asked, path in self.asked if asked == method and path.endswith(path_end))

    def _tell(self, kind: str, word: str, thing: Thing) -> None:
        self._history.append((self._version, kind, {"type": word, "object": thing}))
        self._changed.set()
        self._changed = asyncio.Event()

    # -- HTTP ---------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen, on the same port as before."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening, and cut every connection."""
        for task in list(self._watches):
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    def client(self, clock: Clock) -> KubernetesApi:
        """A client of this server."""
        configuration = Configuration()
        configuration.host = f"http://127.0.0.1:{self._port}"
        return KubernetesApi(ApiClient(configuration=configuration), clock)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path))
        for fault in self.faults:
            method, end, status, times, more = fault
            if method == request.method and request.path.endswith(end) and times:
                fault[3] -= 1
                return self._error(status, more.get("body", "a fault"), headers=more.get("headers"))
        kind, name = self._target(request.path)
        if kind == "selfsubjectaccessreviews":
            return self._review((await request.json())["spec"]["resourceAttributes"])
        if kind not in self.objects:
            return self._error(404, f'namespaces "{name}" not found')
        watch = request.query.get("watch") == "true"
        self.used.add((kind, verb_of(request.method, name=name, watch=watch), name))
        if watch:
            return await self._watch(request, kind)
        body = await request.json() if request.can_read_body else {}
        return getattr(self, f"_{request.method.lower()}")(request, kind, name, body)

    def _target(self, path: str) -> tuple[str, str]:
        parts = path.strip("/").split("/")
        if parts[0] == "apis":
            return parts[3], ""
        if parts[2] == "namespaces" and parts[3] not in self.namespaces:
            return "", parts[3]
        rest = parts[4:] if parts[2] == "namespaces" else parts[2:]
        return rest[0], rest[1] if len(rest) > 1 else ""

    def _review(self, wanted: dict[str, str]) -> web.Response:
        allowed = (wanted["verb"], wanted["resource"]) not in self.forbidden
        return web.json_response({"status": {"allowed": allowed}}, status=201)

    def _get(self, request: web.Request, kind: str, name: str, body: Thing) -> web.Response:
        if name:
            thing = self.objects[kind].get(name)
            return web.json_response(thing) if thing else self._error(404, f'{kind} "{name}" not found')
        items = [thing for thing in self.objects[kind].values() if _asked_for(thing, request)]
        first, limit = int(request.query.get("continue", "0")), int(request.query.get("limit", "500"))
        more = str(first + limit) if first + limit < len(items) else ""
        metadata = {"resourceVersion": str(self._version), "continue": more}
        return web.json_response({"metadata": metadata, "items": items[first : first + limit]})

    def _post(self, request: web.Request, kind: str, name: str, body: Thing) -> web.Response:
        there = {each: list(things.values()) for each, things in self.objects.items()}
        if refused := self.admission.refusal(kind, body, there):
            return self._error(*refused, reason="Forbidden" if refused[0] == 403 else "Invalid")
        if request.query.get("dryRun"):
            return web.json_response(body, status=201)
        if body["metadata"]["name"] in self.objects[kind]:
            return self._error(409, f"{kind} {body['metadata']['name']} already exists", reason="AlreadyExists")
        return web.json_response(self.put(kind, body), status=201)

    def _patch(self, request: web.Request, kind: str, name: str, body: Thing) -> web.Response:
        thing = self.objects[kind].get(name)
        if thing is None:
            return self._error(404, f'{kind} "{name}" not found')
        asked = body["metadata"].get("resourceVersion")
        if asked not in (None, thing["metadata"]["resourceVersion"]):
            return self._error(409, "the object has been modified", reason="Conflict")
        metadata = dict(thing["metadata"])
        if "annotations" in body["metadata"]:
            metadata["annotations"] = {**metadata.get("annotations", {}), **body["metadata"]["annotations"]}
        data = {"data": {**thing.get("data", {}), **body["data"]}} if "data" in body else {}
        return web.json_response(self.put(kind, {**thing, **data, "metadata": metadata}))

    def _delete(self, request: web.Request, kind: str, name: str, body: Thing) -> web.Response:
        if name and name not in self.objects[kind]:
            return self._error(404, f'{kind} "{name}" not found')
        names = [name] if name else [n for n, t in self.objects[kind].items() if _asked_for(t, request)]
        for each in names:
            if kind == "pods":
                self.delete_pod(each, grace=body.get("gracePeriodSeconds", 30))
            else:
                self.remove(kind, each)
        return web.json_response({"kind": "Status", "status": "Success"})

    async def _watch(self, request: web.Request, kind: str) -> web.StreamResponse:
        seen = int(request.query["resourceVersion"])
        if seen < self.oldest:
            return self._error(410, "too old resource version", reason="Expired")
        response = web.StreamResponse()
        await response.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        self._watches.add(task)
        try:
            async with asyncio.timeout(float(request.query["timeoutSeconds"])):
                while True:
                    changed = self._changed
                    for version, event in self._since(kind, seen, request):
                        await response.write(json.dumps(event).encode() + b"\n")
                        seen = version
                    await changed.wait()
        except TimeoutError:
            return response
        finally:
            self._watches.discard(task)

    def _since(self, kind: str, seen: int, request: web.Request) -> Iterator[tuple[int, Thing]]:
        for version, its_kind, event in list(self._history):
            if version <= seen or its_kind != kind:
                continue
            if _asked_for(event["object"], request):
                yield version, event
            elif kind == "pods" and event["type"] == "MODIFIED" and "fieldSelector" in request.query:
                # It may have been among the objects before: a server tells of it as gone.
                yield version, {**event, "type": "DELETED"}

    def tell_all(self, kind: str, event: Thing) -> None:
        """Say something to every watch of a kind, whatever it is."""
        self._version += 1
        event["object"].setdefault("metadata", {})
        self._history.append((self._version, kind, event))
        self._changed.set()
        self._changed = asyncio.Event()

    @staticmethod
    def _error(status: int, message: str, reason: str = "", headers: dict[str, str] | None = None) -> web.Response:
        body = {"kind": "Status", "message": message, "reason": reason, "code": status}
        return web.json_response(body, status=status, headers=headers)


def _asked_for(thing: Thing, request: web.Request) -> bool:
    """Whether the object is in the namespace of the request, and among what its selectors choose."""
    parts = request.path.strip("/").split("/")
    if parts[2] == "namespaces" and thing["metadata"].get("namespace", NAMESPACE) != parts[3]:
        return False
    labels = thing["metadata"].get("labels") or {}
    for part in filter(None, request.query.get("labelSelector", "").split(",")):
        key, _, value = part.partition("=")
        if labels.get(key) != value:
            return False
    has = {
        "status.phase": (thing.get("status") or {}).get("phase", "Pending"),
        "spec.nodeName": (thing.get("spec") or {}).get("nodeName") or "",
    }
    unwanted = [part.split("!=") for part in filter(None, request.query.get("fieldSelector", "").split(","))]
    return all(has[field] != value for field, value in unwanted)
