"""Which Secrets of other namespaces an object may use (TLSCertificateDelegation).

The owner of a Secret delegates it to namespaces by name, or to all with `*` as the only entry. A
reference within one namespace needs no delegation. Whether the Secret exists is not looked at here:
the answer must not tell those who use it. The author of the delegation is told elsewhere.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.delegation import TLSCertificateDelegation
from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Index, View

EVERY = "*"


class Use(NamedTuple):
    """A Secret, and the namespace that uses it."""

    secret: NamespacedName
    namespace: str


def is_permitted(view: View, use: Use) -> bool:
    """Whether objects of the namespace may use the Secret."""
    if use.secret.namespace == use.namespace:
        return True
    return any(view.count(DELEGATED, use._replace(namespace=it)) for it in (EVERY, use.namespace))


def _delegated(
    key: NamespacedName, delegation: TLSCertificateDelegation
) -> Iterator[tuple[Use, NamespacedName]]:
    for it in delegation.spec.delegations:
        secret = NamespacedName(key.namespace, it.secret_name)
        for namespace in it.target_namespaces:
            if namespace != EVERY or it.target_namespaces == (EVERY,):
                yield Use(secret, namespace), key


DELEGATED: Index[Use, NamespacedName] = Index("delegated Secrets", tables.DELEGATIONS, _delegated)

INDEXES = (DELEGATED,)
