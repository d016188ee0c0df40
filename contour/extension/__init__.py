"""The SDK for extension servers in Python: programs that modify Envoy's configuration.

Subclass `Extension`, implement the hooks you need over the typed messages of `envoy-data-plane`,
and call `run`. docs/extensions.md has the whole story, with two complete examples:

    from contour.extension import Extension, run

    class Tagging(Extension):
        async def virtual_host(self, virtual_host):
            virtual_host.response_headers_to_add.append(...)
            return virtual_host

    if __name__ == "__main__":
        run(Tagging())

The package speaks the gRPC interface of Envoy Gateway's extensions, so servers made with it work
with both. It imports nothing of the control plane but the messages of that interface.
"""

from contour.extension.editing import edited, packed
from contour.extension.harness import TranslateError, serving, translated
from contour.extension.interface import (
    Extension,
    InvalidError,
    Named,
    Resource,
    RouteContext,
    Translation,
)
from contour.extension.server import Server, Tls, run

__all__ = [
    "Extension",
    "InvalidError",
    "Named",
    "Resource",
    "RouteContext",
    "Server",
    "Tls",
    "TranslateError",
    "Translation",
    "edited",
    "packed",
    "run",
    "serving",
    "translated",
]
