"""Every check, in the order in which they are made."""

from collections.abc import Callable

from dag.engine.incremental import Engine
from dag.findings import Steps, certificates, exposure, redirects, routes, unused

CHECKS: tuple[Callable[[Engine], Steps], ...] = (
    routes.check,
    redirects.check,
    unused.shared_hosts,
    unused.lost_connections,
    exposure.plain_http,
    exposure.backends,
    exposure.ciphers,
    certificates.check,
    unused.certificates,
)
