"""EnvoyExtensionPolicies: none of what they ask for is served, and all of it may guard something.

So the routes of a policy are closed, and its owner is told by the names of its fields.
"""

from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import View, query
from dag.gateway.envoypolicies import policyeffects
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policyeffects import Effects, Meaning
from dag.gateway.envoypolicies.policytargets import ALL_TARGETS, PolicyKind
from dag.problems import policies as complaints

KIND = "EnvoyExtensionPolicy"
POLICIES = PolicyKind(KIND, tables.EXTENSION_POLICIES, ALL_TARGETS)


@query
def extensions(view: View, key: NamespacedName) -> Meaning[bool] | None:
    """Whether a policy closes its routes; None if it is not there."""
    found = view.read(tables.EXTENSION_POLICIES, key)
    if found is None:
        return None
    told = tuple(policyeffects.closing(view, found, complaints.attached(KIND, key)))
    return Meaning(bool(told), told)


EFFECTS = Effects(Ancestry(POLICIES), extensions, closed=True)
