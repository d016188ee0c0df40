"""How the certificates of clients are checked.

What cannot be checked lets nobody in. Source: HTTPProxy reference, "DownstreamValidation".
"""

from crds import virtualhost as crd
from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from dag.engine.view import View
from dag.faults import reference
from dag.problems import httpproxy as problems
from dag.problems.places import Closed, Place
from dag.references import delegation, trust


def validation(
    view: View, place: Place, written: crd.DownstreamValidation | None
) -> nodes.ClientValidation | None:
    """What clients have to show; Closed if that cannot be checked."""
    if written is None:
        return None
    skips = written.skip_client_cert_validation
    if written.ca_secret is None and not skips:
        raise _not_valid(place, "needs caSecret, or skipClientCertValidation")
    return nodes.ClientValidation(
        trust=_trust(view, place, written),
        is_optional=written.optional_client_certificate,
        accepts_untrusted=skips,
        only_leaf_revocations=written.crl_only_verify_leaf_cert,
        forward=_forwarded(written.forward_client_certificate),
    )


def _trust(view: View, place: Place, written: crd.DownstreamValidation) -> nodes.Trust | None:
    if written.ca_secret is None:
        return None
    authority = _secret(view, place.at("caSecret"), written.ca_secret)
    revocations = (
        _secret(view, place.at("crlSecret"), written.crl_secret) if written.crl_secret else None
    )
    found = nodes.Trust((ObjectRef("Secret", *authority),), revocations)
    if refusal := view.ask(trust.refusal, found):
        raise _not_valid(place, refusal)
    return found


def _secret(view: View, place: Place, written: str) -> NamespacedName:
    try:
        name = reference(written, place.subject.namespace)
    except ValueError as why:
        raise _not_valid(place, str(why)) from None
    if not delegation.is_permitted(view, delegation.Use(name, place.subject.namespace)):
        raise Closed(problems.delegation_not_permitted(place, name))
    return name


def _forwarded(written: crd.ClientCertificateDetails | None) -> nodes.ForwardedCertificate | None:
    if written is None:
        return None
    return nodes.ForwardedCertificate(
        subject=written.subject,
        certificate=written.cert,
        chain=written.chain,
        dns=written.dns,
        uri=written.uri,
    )


def _not_valid(place: Place, text: str) -> Closed:
    return Closed(problems.guard_not_valid(place, "TLSError", "ClientValidationInvalid", text))
