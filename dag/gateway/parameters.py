"""Why nothing of a Gateway can be served, whatever its listeners say ("GatewayInfrastructure").

Parameters of a kind that is not known make the Gateway unacceptable, as do addresses of a kind
that Envoy cannot have. Elsewhere: putting labels and annotations on what is made for a Gateway is
for whoever makes it.
"""

from crds.gateway.gateway import GatewaySpec
from crds.meta import NamespacedName
from dag import tables
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.view import View, query

ADDRESSES = ("IPAddress", "Hostname")
"""The types of addresses that can be asked for."""


@query
def refusal(view: View, gateway: NamespacedName) -> Problem | None:
    """Why none of the listeners of a Gateway can be served."""
    found = view.read(tables.GATEWAYS, gateway)
    if found is None:
        return None
    own = problems.gateway(gateway)
    return _parameters(found.spec, own) or _addresses(found.spec, own)


def _parameters(spec: GatewaySpec, own: Place) -> Problem | None:
    infrastructure = spec.infrastructure
    if infrastructure is None or infrastructure.parameters_ref is None:
        return None
    at = own.at("infrastructure").at("parametersRef")
    return problems.parameters_not_known(at, infrastructure.parameters_ref.kind)


def _addresses(spec: GatewaySpec, own: Place) -> Problem | None:
    for index, address in enumerate(spec.addresses):
        if address.type not in ADDRESSES:
            return problems.address_not_supported(own.at("addresses", index), address.type)
    return None
