"""An extension with a filter kind of its own: a HeaderFilter sets and removes headers.

    apiVersion: headers.example.com/v1
    kind: HeaderFilter
    metadata: {name: security}
    spec:
      response:
        set: {x-frame-options: DENY}
        remove: [x-powered-by]

Register the hook `Route` and the kind; a rule of an HTTPRoute refers to the object by a filter of
type `ExtensionRef`. Run it with `python -m contour.extension.examples.header_filter`.
"""

from collections.abc import Iterable, Mapping

from envoy_data_plane.envoy.config.core.v3 import (
    HeaderValue,
    HeaderValueOption,
    HeaderValueOptionHeaderAppendAction,
)
from envoy_data_plane.envoy.config.route.v3 import Route
from pydantic import BaseModel, ConfigDict

from contour.extension import Extension, RouteContext, run


class Headers(BaseModel):
    """What happens to the headers of one direction."""

    model_config = ConfigDict(extra="forbid")

    set: Mapping[str, str] = {}
    remove: tuple[str, ...] = ()


class Spec(BaseModel):
    """The `spec` of a HeaderFilter."""

    model_config = ConfigDict(extra="forbid")

    request: Headers = Headers()
    response: Headers = Headers()


class HeaderFilter(Extension):
    """Sets and removes the headers that HeaderFilters name."""

    async def route(self, route: Route, context: RouteContext) -> Route:
        """Later objects win over earlier ones."""
        specs = [it.spec(Spec) for it in context.resources]
        request = combined(it.request for it in specs)
        response = combined(it.response for it in specs)
        route.request_headers_to_add += options(request.set)
        route.request_headers_to_remove += request.remove
        route.response_headers_to_add += options(response.set)
        route.response_headers_to_remove += response.remove
        return route


def combined(found: Iterable[Headers]) -> Headers:
    """Several changes in one, in which Envoy removes headers before it sets any."""
    values: dict[str, str] = {}
    removed: dict[str, None] = {}
    for it in found:
        for name in map(str.lower, it.remove):
            values.pop(name, None)
            removed[name] = None
        values.update((name.lower(), value) for name, value in it.set.items())
    return Headers(set=values, remove=tuple(removed))


def options(headers: Mapping[str, str]) -> list[HeaderValueOption]:
    """Headers in the form of Envoy. A per cent sign would begin a variable, so it is doubled; an
    empty value would not be set."""
    action = HeaderValueOptionHeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD
    return [
        HeaderValueOption(
            header=HeaderValue(key=key, value=value.replace("%", "%%")),
            append_action=action,
            keep_empty_value=True,
        )
        for key, value in headers.items()
    ]


if __name__ == "__main__":
    run(HeaderFilter())
