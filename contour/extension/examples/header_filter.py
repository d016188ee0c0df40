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

from collections.abc import Mapping

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
        for it in context.resources:
            spec = it.spec(Spec)
            route.request_headers_to_add += options(spec.request.set)
            route.request_headers_to_remove += spec.request.remove
            route.response_headers_to_add += options(spec.response.set)
            route.response_headers_to_remove += spec.response.remove
        return route


def options(headers: Mapping[str, str]) -> list[HeaderValueOption]:
    """Headers in the form of Envoy. A per cent sign would begin a variable, so it is doubled."""
    action = HeaderValueOptionHeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD
    return [
        HeaderValueOption(
            header=HeaderValue(key=key, value=value.replace("%", "%%")), append_action=action
        )
        for key, value in headers.items()
    ]


if __name__ == "__main__":
    run(HeaderFilter())
