"""The pages of the dashboard: what each address shows, as HTML.

Links contain all parameters of a page, so that it can be bookmarked, opened in another tab, and
reloaded when something has changed. The pages also work without scripts, but do not follow changes
then.
"""

import heapq
import importlib.resources
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import web

from contour import turns
from contour.answers.explained import Explained
from contour.answers.subjects import FILE
from contour.dashboard import access, graph, live
from contour.dashboard.links import ROOT
from contour.dashboard.templating import rendered
from contour.dashboard.views import ROUTES, Views
from contour.inspection.explaining import Explainer
from contour.instance import Instance
from contour.pages.listeners import Page, Pages
from contour.xds import view
from crds.meta import ObjectRef
from dag import nodes
from dag.evaluation import written
from dag.fleetnames import DEFAULT_FLEET

T = TypeVar("T")

_ROWS = 50
"""Rows of a list that are shown at a time."""
_USES = 20
"""Hosts of an object that are listed; the others are counted."""

Order = tuple[str, ...]

Parameters = Callable[[str], str]
"""The value of a parameter of the query; empty without one."""

Content = Callable[[Parameters], Awaitable[str]]
"""Makes a page. Raises ValueError if the parameters make no sense, LookupError if they name
something that does not exist."""


def pages(instance: Instance) -> Pages:
    """The pages, by path. `/` redirects to the first of them."""
    made = Dashboard(Views(instance))
    shown: dict[str, Content] = {
        ROOT: made.hosts,
        f"{ROOT}/host": made.host,
        f"{ROOT}/objects": made.objects,
        f"{ROOT}/object": made.object,
        f"{ROOT}/envoys": made.envoys,
        f"{ROOT}/explain": made.explain,
    }
    found: dict[str, Page] = {path: _shown(content) for path, content in shown.items()}
    for name, kind in (("style.css", "text/css"), ("script.js", "text/javascript")):
        found[f"{ROOT}/{name}"] = _file(name, kind)
    found[f"{ROOT}/changes"] = live.Changes(instance).page
    return found | {"/": _redirect}


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The content of each page."""

    views: Views

    async def hosts(self, parameters: Parameters) -> str:
        """All hosts, or those that a search finds; and the listeners."""
        search, page = parameters("q"), _number(parameters("page"))
        keys = await _sorted(self.views.host_keys(search), key=lambda it: (it.host, *it))
        page, pages, wanted = _part(keys, page, _ROWS)
        shown = await turns.collected(map(self.views.host_row, wanted))
        return await rendered(
            "hosts.html", search=search, count=len(keys), page=page, pages=pages, rows=shown,
            listeners=self.views.listeners(),
        )  # fmt: skip

    async def host(self, parameters: Parameters) -> str:
        """One host: its graph, its routes, and the problems of its objects."""
        key = nodes.HostKey(*(parameters(it) for it in nodes.HostKey._fields))
        search, page = parameters("q"), _number(parameters("page"))
        row = self.views.host_row(key)
        if row is None:
            raise LookupError(f"no host {key.host} is served on this listener")
        fitting = await turns.collected(self.views.routes(key, search))
        locate = self.views.locate()
        told = await turns.collected(self.views.row(it).located(locate) for it in row.origins)
        page, pages, shown = _part(fitting, page, ROUTES)
        found = self.views.host(row, shown, len(fitting), told)
        return await rendered(
            "host.html", host=found, search=search, page=page, pages=pages,
            drawing=graph.of_host(found),
        )  # fmt: skip

    async def objects(self, parameters: Parameters) -> str:
        """The objects with problems, or all that a search finds."""
        search, page = parameters("q"), _number(parameters("page"))
        bad = parameters("all") != "yes"
        found = await _sorted(self.views.subjects(search, bad=bad), key=tuple)
        locate = self.views.locate()
        page, pages, wanted = _part(found, page, _ROWS)
        rows = await turns.collected(self.views.row(it).located(locate) for it in wanted)
        return await rendered(
            "objects.html", search=search, bad=bad, count=len(found), page=page, pages=pages,
            rows=rows,
        )  # fmt: skip

    async def object(self, parameters: Parameters) -> str:
        """One object: its problems, and the hosts that depend on it."""
        subject = ObjectRef(*(parameters(it) for it in ("kind", "namespace", "name")))
        if not subject.kind:
            raise ValueError("the parameter `kind` is missing")
        keys = await _sorted(self.views.hosts_of(subject), key=tuple)
        hosts = await turns.collected(map(self.views.host_row, keys[:_USES]))
        backends = await turns.collected(self.views.backends_of(subject))
        if not (subject.kind == FILE or keys or backends or self.views.is_known(subject)):
            raise LookupError(f"there is no {subject}")
        return await rendered(
            "object.html", row=self.views.row(subject).located(self.views.locate()),
            conditions=self.views.conditions(subject), count=len(keys),
            hosts=hosts, backends=backends,
        )  # fmt: skip

    async def envoys(self, parameters: Parameters) -> str:
        """What each connected Envoy has, waits for and refuses."""
        server = self.views.instance.server
        fleets = (*server.fleets.values(), *server.by_node.values())
        found = [it for fleet in fleets for it in view.counts(fleet)]
        return await rendered("envoys.html", envoys=found)

    async def explain(self, parameters: Parameters) -> str:
        """The form of `contour explain`, and its answer."""
        names = ("fleet", "method", "url", "headers", "sni", "from")
        asked, fleets = {it: parameters(it) for it in names}, self.views.fleets()
        if not asked["fleet"]:
            asked["fleet"] = DEFAULT_FLEET if DEFAULT_FLEET in fleets else next(iter(fleets), "")
        answer, error = None, ""
        if asked["url"]:
            try:
                answer = self._explained(asked)
            except ValueError as wrong:
                error = str(wrong)
        return await rendered(
            "explain.html", asked=asked, fleets=fleets, answer=answer, error=error
        )

    def _explained(self, asked: dict[str, str]) -> Explained:
        request = written.request(
            asked["url"],
            asked["method"] or "GET",
            [it for it in asked["headers"].splitlines() if it.strip()],
            asked["sni"] or None,
            asked["from"] or "127.0.0.1",
        )
        controller = self.views.instance.controller
        explainer = Explainer(controller.engine, controller.board, self.views.locate())
        found = explainer.explained(asked["fleet"], request)
        if "fleets" in found:
            raise ValueError(f"there is no fleet {asked['fleet']}")
        return found


async def _sorted(steps: Iterator[T | None], key: Callable[[T], Order]) -> list[T]:
    """What was found, sorted in portions: sorting all at once would block the event loop."""
    found = await turns.collected(steps)
    portions: list[list[T]] = []

    def sort() -> Iterator[None]:
        for start in range(0, len(found), _PORTION):
            portions.append(sorted(found[start : start + _PORTION], key=key))
            yield

    await turns.take(sort())
    merged: Iterator[T] = heapq.merge(*portions, key=key)
    return await turns.collected(merged)


_PORTION = 1000


def _part(found: Sequence[T], page: int, rows: int) -> tuple[int, int, Sequence[T]]:
    """The number of a page, the number of all pages, and what is on the page: the last one, where
    there are not that many (any more)."""
    pages = -(-len(found) // rows)
    shown = max(0, min(page, pages - 1))
    return shown, pages, found[shown * rows : (shown + 1) * rows]


def _number(text: str) -> int:
    """The number of a page, counted from 0."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise ValueError(f"{text[:50]!r} is no number of a page")
    return int(text)


def _shown(content: Content) -> Page:
    async def answer(request: web.BaseRequest) -> web.Response:
        try:
            text, status = await content(lambda name: request.query.get(name, "")), 200
        except ValueError as error:
            text, status = await rendered("missing.html", words=str(error)), 400
        except LookupError as error:
            text, status = await rendered("missing.html", words=str(error)), 404
        return web.Response(
            status=status, text=text, content_type="text/html", headers=access.HEADERS
        )

    return answer


def _file(name: str, kind: str) -> Page:
    text = importlib.resources.files("contour.dashboard").joinpath("static", name).read_text()

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(text=text, content_type=kind, headers=access.HEADERS)

    return answer


async def _redirect(_: web.BaseRequest) -> web.Response:
    return web.Response(status=302, headers={"Location": ROOT, **access.HEADERS})
