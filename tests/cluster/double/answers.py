"""The answer to a request: the scripted one, if there is one, else the one of an API server."""

import asyncio
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import yaml
from aiohttp import web

from tests.cluster.double import lists, paths, refusals, resources, selectors, writes
from tests.cluster.double.faults import Request, Rule
from tests.cluster.double.refusals import RefusalError
from tests.cluster.double.resources import Resource
from tests.cluster.double.watches import Watch, Wish

if TYPE_CHECKING:
    from tests.cluster.double.server import Double

Raw = dict[str, Any]

LONGEST_WATCH = (1800.0, 3600.0)  # seconds, if the watch asks for none


class _Asked(NamedTuple):
    """A request for a resource that exists."""

    path: paths.Path
    resource: Resource
    query: Mapping[str, str]

    @property
    def target(self) -> writes.Target:
        place = (self.path.namespace, self.path.name)
        return writes.Target(self.resource, place, self.path.subresource)

    def render(self, obj: Raw) -> Raw:
        """The object in the version that was asked for."""
        version = self.resource.api_version(self.path.version)
        return {"apiVersion": version, "kind": self.resource.kind} | {
            name: it for name, it in obj.items() if name not in {"apiVersion", "kind"}
        }

    def render_in_list(self, obj: Raw) -> Raw:
        """Items of lists of built-in resources do not say what they are."""
        full = self.render(obj)
        if self.resource.custom:
            return full
        return {name: it for name, it in full.items() if name not in {"apiVersion", "kind"}}


class Answers:
    """The answers of the double."""

    def __init__(self, double: "Double") -> None:
        self._double = double

    async def answer(self, http: web.Request) -> web.StreamResponse:
        """Answers a request."""
        request = _request(http)
        self._double.requests.append(request)
        self._double.tell()
        rule = self._double.script.decide(request)
        if rule and rule.hold:
            await rule.hold.wait()
        if rule and rule.drop:
            return _dropped(http)
        if rule and (rule.status or rule.body is not None):
            return _scripted(rule)
        try:
            self._authenticate(http)
            return await self._truth(http, request)
        except RefusalError as refusal:
            return _json(refusal.status, refusal.code)

    def _authenticate(self, http: web.Request) -> None:
        token = http.headers.get("Authorization", "").removeprefix("Bearer ")
        if self._double.tokens and token not in self._double.tokens:
            raise RefusalError(401, "Unauthorized")

    async def _truth(self, http: web.Request, request: Request) -> web.StreamResponse:
        path = paths.parsed(http.path)
        if path is None or not path.plural:
            return self._discovered(http.path, path)
        resource = self._resource(path)
        if resource is None:
            return web.Response(status=404, text="404 page not found\n")
        if path.subresource not in _subresources(resource):
            raise refusals.unknown_resource()
        asked = _Asked(path, resource, http.query)
        match request.verb:
            case "watch":
                return await self._watch(http, asked)
            case "list":
                what = lists.Collection(resource, path.version, path.namespace)
                return _json(
                    lists.listed(self._double.store, what, http.query, asked.render_in_list)
                )
            case "get":
                return _json(asked.render(writes.existing(self._double.store, asked.target)))
            case _:
                return await self._written(http, asked, request.verb)

    def _resource(self, path: paths.Path) -> Resource | None:
        for resource in self._double.served:
            if (resource.group, resource.plural) == (path.group, path.plural):
                return resource if path.version in resource.versions else None
        return None

    def _discovered(self, url: str, path: paths.Path | None) -> web.Response:
        served = self._double.served
        match url.strip("/").split("/"):
            case ["api"]:
                return _json({"kind": "APIVersions", "versions": ["v1"]})
            case ["apis"]:
                return _json(resources.groups(served))
            case ["version"]:
                return _json({"major": "1", "minor": "35", "gitVersion": "v1.35.0-double"})
            case ["livez" | "readyz" | "healthz"]:
                return web.Response(text="ok")
        found = resources.resource_list(served, path.group, path.version) if path else None
        return _json(found) if found else web.Response(status=404, text="404 page not found\n")

    async def _written(self, http: web.Request, asked: _Asked, verb: str) -> web.Response:
        body = yaml.load(text, yaml.CSafeLoader) if (text := await http.text()) else {}
        store, target = self._double.store, asked.target
        author = _author(http)
        match verb:
            case "create":
                made = writes.create(store, asked.resource, asked.path.namespace, body, author)
                return _json(asked.render(self._double.established(made)), 201)
            case "update":
                return _json(asked.render(writes.replace(store, target, body, author)))
            case "patch":
                is_new = store.get(asked.resource.name, target.place) is None
                done = writes.patch(store, target, body, http.content_type, author)
                return _json(asked.render(done), 201 if is_new else 200)
            case "delete":
                gone = writes.delete(store, target, body.get("preconditions") or {})
                self._double.forget(gone)
                return _json(_farewell(asked, gone))
        raise RefusalError(405, "the server does not allow this method on the requested resource")

    async def _watch(self, http: web.Request, asked: _Asked) -> web.StreamResponse:
        wish = self._wish(asked)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(http)
        plural, script = asked.resource.plural, self._double.script
        watch = Watch(
            wish, http, response, self._double.store, lambda: script.tampering.get(plural)
        )
        try:
            self._double.store.demand_history(wish.version or self._double.store.version)
        except RefusalError as refusal:
            await watch.error(refusal.status)
            return response
        self._double.watches.append(watch)
        self._double.tell()
        try:
            await watch.tell()
        except ConnectionError:
            pass
        finally:
            self._double.watches.remove(watch)
            self._double.tell()
        return response

    def _wish(self, asked: _Asked) -> Wish:
        query, resource = asked.query, asked.resource
        is_selected, namespace = selectors.selector(query), asked.path.namespace
        version, bookmarks = (
            int(query.get("resourceVersion") or 0),
            query.get("allowWatchBookmarks"),
        )
        initial = query.get("sendInitialEvents") == "true" or not version
        return Wish(
            resource.name,
            resource.kind,
            resource.api_version(asked.path.version),
            lambda it: namespace in {"", it["metadata"].get("namespace", "")} and is_selected(it),
            asked.render,
            None if initial else version,
            bookmarks == "true",
            float(query.get("timeoutSeconds") or random.uniform(*LONGEST_WATCH)),
        )


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _request(http: web.Request) -> Request:
    path = paths.parsed(http.path) or paths.Path("", "")
    verb = _VERBS.get(http.method, "")
    if not path.plural:
        verb = "discovery"
    elif not verb:
        is_watch = http.query.get("watch") in {"1", "true"}
        verb = "get" if path.name else "watch" if is_watch else "list"
    return Request(
        verb, path.plural, path.namespace, path.name, path.subresource,
        dict(http.query), dict(http.headers), asyncio.get_running_loop().time(),
    )  # fmt: skip


def _subresources(resource: Resource) -> set[str]:
    return {"", "status"} if resource.has_status else {""}


def _author(http: web.Request) -> writes.Author:
    """The field manager is the program's name if the request names none; an apply has to name
    it."""
    manager = http.query.get("fieldManager", "")
    if not manager and http.content_type != writes.APPLY:
        manager = http.headers.get("User-Agent", "").partition("/")[0]
    return writes.Author(manager, http.query.get("force") == "true")


def _farewell(asked: _Asked, gone: Raw) -> Raw:
    """The object if finalizers keep it, else a Status that says it is deleted."""
    if "deletionTimestamp" in gone["metadata"]:
        return asked.render(gone)
    details = {"name": asked.path.name, "kind": asked.resource.plural}
    details |= {"group": asked.resource.group} if asked.resource.group else {}
    details["uid"] = gone["metadata"].get("uid", "")
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    }  # fmt: skip


def _dropped(http: web.Request) -> web.Response:
    if http.transport:
        http.transport.abort()
    return web.Response()


def _scripted(rule: Rule) -> web.Response:
    code = rule.status or 200
    if rule.body is not None:
        return web.Response(status=code, body=rule.body, headers=dict(rule.headers))
    return _json(refusals.status(code, rule.message), code, rule.headers)


def _json(content: Raw, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    body = orjson.dumps(content)
    return web.Response(
        body=body, status=code, headers=dict(headers or {}), content_type="application/json"
    )
