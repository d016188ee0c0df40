"""What the configuration puts on every host that does not say otherwise.

Until a service that is to be asked of every request can be asked, every host is closed. Source:
Contour's configuration reference, "globalExtAuth". Elsewhere: reading the configuration
(`configuration`), what HTTPProxies say of themselves (`httpproxy.guards`).
"""

from dataclasses import dataclass

from crds.ratelimits import GlobalRateLimitPolicy
from dag import authorization, settings
from dag.faults import Fault
from dag.view import View, query


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """Why a default cannot be built."""

    step: str
    """The path of the field below the part of the configuration."""
    text: str


@query
def built_authority(view: View, _: tuple[()]) -> authorization.Authority | Unbuilt | None:
    """The service that is asked of every request, or why it cannot be; None if there is none."""
    written = view.ask(settings.settings, ()).global_authorization
    if written is None:
        return None
    try:
        return authorization.authority(view, "", written)
    except Fault as fault:
        return Unbuilt(fault.step, fault.text)


@query
def authority(view: View, _: tuple[()]) -> authorization.Authority | None:
    """The service that is asked, if it can be."""
    found = view.ask(built_authority, ())
    return None if isinstance(found, Unbuilt) else found


@query
def is_closed(view: View, _: tuple[()]) -> bool:
    """Something that is to guard every host is not served."""
    found = view.ask(built_authority, ())
    return isinstance(found, Unbuilt) or view.ask(settings.is_closed, ())


@query
def rate_limits(view: View, _: tuple[()]) -> GlobalRateLimitPolicy | None:
    """What the rate limit service is asked of HTTPProxies that do not say."""
    service = view.ask(settings.settings, ()).rate_limiting
    return service.default_global_rate_limit_policy if service is not None else None
