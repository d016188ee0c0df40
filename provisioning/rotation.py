"""Rotation of an instance's certificates: those to hold now, given those it has. Pure.

A certificate is renewed at two thirds of its life. An authority is replaced with an overlap, in
steps whose only state is the certificates themselves: first everybody trusts the new one; once it
has reached every pod, it signs; once its leaves are everywhere, the old one is dropped. Asking
again without waiting changes nothing, so a step that failed can simply be repeated. The current
time is a parameter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from cryptography import x509

from provisioning import certificates, identities
from provisioning.certificates import Authority, Leaf, Subject
from provisioning.names import LONGEST_LEAF_LIFETIME

SPREAD = timedelta(hours=1)
"""How long written Secrets may take to reach every pod (kubelets check every minute or two)."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The certificates of an instance."""

    authorities: tuple[Authority, ...] = ()
    """The authorities that everybody trusts."""
    leaves: Mapping[str, Leaf] = field(default_factory=dict[str, Leaf])
    """The leaves by the names of `subjects`, who show them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What certificates an instance should have."""

    subjects: Mapping[str, Subject]
    """By the names of their leaves, in the order in which these are written."""
    lifetime: timedelta = LONGEST_LEAF_LIFETIME


def wanted(
    service: str = "contour",
    fleet: str = "envoy",
    namespace: str = "projectcontour",
    lifetime: timedelta = LONGEST_LEAF_LIFETIME,
) -> Wanted:
    """The certificates for a control plane and Envoys behind these Services."""
    # A replica of the control plane is also a client: of the leader.
    server = Subject(identities.control_plane(service, namespace), ("server", "client"))
    client = Subject(identities.fleet(fleet, namespace), ("client",))
    # What the control plane has been told of, everybody has.
    return Wanted({"envoy": client, "contour": server}, lifetime)


def with_grpc_clients(want: Wanted, namespaces: Iterable[str]) -> Wanted:
    """`want` with a leaf for the gRPC applications of each of these namespaces."""
    more = {of_grpc_client(it): grpc_application(it) for it in namespaces}
    return replace(want, subjects={**more, **want.subjects})


def of_grpc_client(namespace: str) -> str:
    """The name of the leaf of the gRPC applications of a namespace."""
    return f"grpc-client-{namespace}-"


def grpc_application(namespace: str) -> Subject:
    """The subject of the gRPC applications of a namespace, as clients and as servers."""
    names = identities.grpc_client(namespace), identities.grpc_server(namespace)
    return Subject(names, ("client", "server"))


def renewed(held: Holdings, want: Wanted, now: datetime) -> Holdings:
    """The certificates to hold from now on; unchanged if nothing is due."""
    trusted = _trusted(held.authorities, now)
    signer = _signer(trusted, now) or _able_to_sign(trusted, now)[-1]
    leaves = {
        name: _leaf(held.leaves.get(name), subject, trusted, now)
        or certificates.leaf(signer, subject, want.lifetime, now)
        for name, subject in want.subjects.items()
    }
    return Holdings(tuple(_needed(trusted, leaves.values(), now)), leaves)


def joined(
    authorities: Iterable[Authority], held: Leaf | None, subject: Subject, now: datetime
) -> Leaf | None:
    """The leaf of a process that joins an instance; None if no authority could sign one.

    It is unchanged if nothing is due. Authorities are renewed elsewhere, and in time.
    """
    trusted = tuple(_unexpired(authorities, now))
    signers = _able_to_sign(trusted, now)
    if not signers:
        return None
    return _leaf(held, subject, trusted, now) or certificates.leaf(
        _signer(trusted, now) or signers[-1],
        subject,
        LONGEST_LEAF_LIFETIME,
        now,
    )


def due(held: Holdings) -> datetime:
    """The next time at which `renewed` has something to do."""
    leaves = [it.certificate for it in held.leaves.values()]
    newest = held.authorities[-1].certificate
    steps = [_renewal(it) for it in (newest, *leaves)]
    if not all(certificates.is_issued_by(it, newest) for it in leaves):
        steps.append(certificates.made(newest) + SPREAD)
    elif len(held.authorities) > 1:
        steps.append(max(map(certificates.made, leaves)) + SPREAD)
    return min(steps)


def _trusted(authorities: Iterable[Authority], now: datetime) -> tuple[Authority, ...]:
    """Those of before that have not expired, oldest first, and a new one when that is due."""
    found = _unexpired(authorities, now)
    signers = _able_to_sign(found, now)
    if not signers or _renewal(signers[-1].certificate) <= now:
        found = _unexpired([*found, certificates.authority(now)], now)
    return tuple(found)


def _unexpired(authorities: Iterable[Authority], now: datetime) -> list[Authority]:
    """Oldest first. One that is not valid yet stays trusted: the clock of whoever made it was
    ahead, or ours is behind, and then all others rely on it."""
    found = (it for it in authorities if now < it.certificate.not_valid_after_utc)
    return sorted(found, key=lambda it: it.certificate.not_valid_before_utc)


def _able_to_sign(trusted: Iterable[Authority], now: datetime) -> list[Authority]:
    return [it for it in trusted if it.key is not None and _is_valid(it.certificate, now)]


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _signer(trusted: Iterable[Authority], now: datetime) -> Authority | None:
    """The newest authority that has reached every pod; None if none has."""
    known = [it for it in _able_to_sign(trusted, now) if _is_spread(it.certificate, now)]
    return known[-1] if known else None


def _leaf(
    held: Leaf | None, subject: Subject, trusted: tuple[Authority, ...], now: datetime
) -> Leaf | None:
    """The present leaf, unless it is to be replaced."""
    if held is None or not _is_sound(held, subject, trusted, now):
        return None
    signer = _signer(trusted, now)
    if signer is None:
        # A pod that does not have the new authority yet would refuse its leaves.
        return held
    is_of_signer = certificates.is_issued_by(held.certificate, signer.certificate)
    return held if is_of_signer and now < _renewal(held.certificate) else None


def _is_sound(held: Leaf, subject: Subject, trusted: Iterable[Authority], now: datetime) -> bool:
    return (
        any(certificates.is_issued_by(held.certificate, it.certificate) for it in trusted)
        and _is_valid(held.certificate, now)
        and certificates.fit(held.certificate, held.key)
        and certificates.names(held.certificate) >= frozenset(subject.names)
    )


def _needed(
    trusted: tuple[Authority, ...], leaves: Iterable[Leaf], now: datetime
) -> Iterable[Authority]:
    """The authorities without old ones whose leaves are out of use; newer ones are to come."""
    shown = [it.certificate for it in leaves]
    is_spread = all(_is_spread(it, now) for it in shown)
    in_use = [it for it in trusted if _signed_any(it, shown)]
    oldest = trusted.index(in_use[0]) if in_use and is_spread else 0
    return trusted[oldest:]


def _signed_any(authority: Authority, shown: Iterable[x509.Certificate]) -> bool:
    return any(certificates.is_issued_by(it, authority.certificate) for it in shown)


def _is_spread(certificate: x509.Certificate, now: datetime) -> bool:
    return certificates.made(certificate) + SPREAD <= now


def _renewal(certificate: x509.Certificate) -> datetime:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return start + (end - start) * 2 / 3
