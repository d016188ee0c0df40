"""Which Secrets of other namespaces an object may use (TLSCertificateDelegation).

The owner of a Secret delegates it to namespaces by name, or to all with `*` as the only entry. A
reference within one namespace needs no delegation. Whether the Secret exists is not checked here:
the answer must not disclose that to those who use it. The status of the delegation says it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.delegation import TLSCertificateDelegation
from crds.meta import NamespacedName
from dag import tables
from dag.engine.view import Index, View
from dag.problems import Refused
from dag.problems.places import Place
from dag.problems.shared import OfSecrets

EVERY = "*"


class Use(NamedTuple):
    """A Secret, and the namespace that uses it."""

    secret: NamespacedName
    namespace: str


def named(written: str, namespace: str) -> NamespacedName | None:
    """The object that `name` or `namespace/name` means; None if it is neither."""
    match written.split("/"):
        case [name] if name:
            return NamespacedName(namespace, name)
        case [elsewhere, name] if elsewhere and name:
            return NamespacedName(elsewhere, name)
        case _:
            return None


def secret(view: View, place: Place, written: str, say: OfSecrets) -> NamespacedName:
    """The Secret that a field names; Refused if it names none, or one that may not be used."""
    own = place.subject.namespace
    found = named(written, own)
    if found is None:
        text = f"{written[:60]!r} is neither the name of a Secret nor namespace/name"
        raise Refused(say.not_valid(place, text))
    if not is_permitted(view, Use(found, own)):
        raise Refused(say.not_delegated(place, refusal(found, own)))
    return found


def refusal(secret: NamespacedName, namespace: str) -> str:
    """Why a Secret may not be used, as a sentence."""
    return f"Secret {secret} is not delegated to namespace {namespace}"


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
