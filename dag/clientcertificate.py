"""The client certificate of the configuration: whether Envoy can show it to Services.

Without it Envoy opens no TLS connection to a Service or ExtensionService that has none of its own.
"""

from dag.configuration import settings
from dag.engine.view import View, query
from dag.references import secrets


@query
def unusable(view: View, _: tuple[()]) -> str | None:
    """Why TLS connections to Services fail; None if they do not."""
    named = view.ask(settings.settings, ()).upstreams.client_certificate
    refusal = view.ask(secrets.refusal, named) if named is not None else None
    if refusal is None:
        return None
    why = f"the client certificate of the configuration cannot be used ({refusal.message})"
    return f"no connection is opened: {why}"
