"""EnvoyExtensionPolicy: what runs beside the routes of a Gateway. None of it is served.

Its kind is read because it guards: an external processor, a Wasm module or a script may refuse
requests. So each field closes the routes of the policy. The fields are those of Envoy Gateway 1.9.
"""

from typing import Annotated

from crds.envoygateway.opaque import Opaque
from crds.envoygateway.policytargets import PolicyTargets
from crds.meta import ObjectMeta, model
from crds.unserved import Unserved

_CLOSED = Unserved(guards=True)


@model
class EnvoyExtensionPolicySpec(PolicyTargets):
    """The targets, and what runs beside them."""

    merge_type: Annotated[str | None, _CLOSED] = None
    """How the policy of a route is merged with that of its Gateway."""
    wasm: Annotated[tuple[Opaque, ...], _CLOSED] = ()
    """Wasm modules that see each request and may answer it."""
    ext_proc: Annotated[tuple[Opaque, ...], _CLOSED] = ()
    """Servers that see each request and answer, and may change both or refuse the request."""
    lua: Annotated[tuple[Opaque, ...], _CLOSED] = ()
    """Lua scripts that see each request and may answer it."""
    dynamic_module: Annotated[tuple[Opaque, ...], _CLOSED] = ()
    """Modules that Envoy loads, which see each request and may answer it."""


@model
class EnvoyExtensionPolicy:
    """What runs beside the routes of a Gateway: it is not served, and closes them."""

    metadata: ObjectMeta
    spec: EnvoyExtensionPolicySpec
    """The targets, and what runs beside them."""
