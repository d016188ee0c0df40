"""The graph of one host: which objects make which routes, and where these lead.

The drawing has the same routes as the table of the page, so the search and the page number apply to
both.
"""

from contour.dashboard import links
from contour.dashboard.drawing import Box, Column, Drawing, Sketch
from contour.dashboard.views import BackendRow, Host, RouteRow
from crds.meta import ObjectRef

_HEADINGS: dict[Column, str] = {
    "host": "Host",
    "object": "Objects",
    "route": "Routes",
    "service": "Services",
    "endpoint": "Endpoints",
}


def of_host(found: Host) -> Drawing:
    """The drawing of the routes that are shown."""
    sketch = Sketch()
    host = Box(found.row.key.host, found.row.key.host, links.host(found.row.key), found.row.state)
    sketch.add("host", host)
    # In the order of their routes, so that few lines cross.
    for origin in dict.fromkeys((*(it.origin for it in found.routes), *found.row.origins)):
        sketch.connect("host", host, "object", sketch.add("object", _object(origin, found)))
    for route in found.routes:
        _add_route(sketch, route, found)
    return sketch.placed(_HEADINGS)


def _add_route(sketch: Sketch, route: RouteRow, host: Host) -> None:
    text = route.match if route.backends else f"{route.match} {route.action}"
    box = sketch.add("route", Box(str(route.number), text, f"#route-{route.number}"))
    sketch.connect("object", sketch.add("object", _object(route.origin, host)), "route", box)
    for backend in route.backends:
        _add_backend(sketch, box, backend)


def _add_backend(sketch: Sketch, route: Box, backend: BackendRow) -> None:
    if backend.service is None:
        missing = sketch.add("service", Box("missing", "no such backend", "", "error"))
        sketch.connect("route", route, "service", missing)
        return
    name = f"{backend.service.key}:{backend.port}"
    state = "ok" if backend.endpoints else "error"
    service = sketch.add("service", Box(name, name, links.subject(backend.service), state))
    sketch.connect("route", route, "service", service)
    for address in backend.endpoints:
        box = sketch.add("endpoint", Box(f"{name} {address}", address))
        sketch.connect("service", service, "endpoint", box)


def _object(subject: ObjectRef, host: Host) -> Box:
    state = host.states.get(subject, "ok")
    return Box(str(subject), str(subject), links.subject(subject), state)
