"""Client certificates of a host, and how they are checked.

If they cannot be checked, nobody gets in. Source: HTTPProxy reference, "DownstreamValidation".
"""

from collections.abc import Iterator

from crds import virtualhost as crd
from crds.meta import ObjectRef
from crds.records import replace
from dag import entrypoints, nodes
from dag.engine.view import View
from dag.problems import Problem, Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.references import delegation, trust


def validation(
    view: View, place: Place, written: crd.DownstreamValidation | None
) -> Findings[nodes.ClientValidation | None]:
    """What clients have to show; Refused if that cannot be checked."""
    if written is None:
        return None
    skips = written.skip_client_cert_validation
    if written.ca_secret is None and not skips:
        text = "needs caSecret, or skipClientCertValidation"
        raise Refused(problems.client_validation_not_valid(place, text))
    if skips and written.crl_secret:
        text = "has no effect: with skipClientCertValidation, revoked certificates are accepted"
        yield problems.not_enforced(place.at("crlSecret"), text)
    return nodes.ClientValidation(
        trust=_trust(view, place, written),
        is_optional=written.optional_client_certificate,
        accepts_untrusted=skips,
        only_leaf_revocations=written.crl_only_verify_leaf_cert,
        forward=_forwarded(written.forward_client_certificate),
    )


def is_overruled(view: View, fqdn: str, own: nodes.Tls) -> bool:
    """Whether a Gateway, which wins over an HTTPProxy, lets in clients that the HTTPProxy does not.

    A lower minimum version of TLS is only reported: it lets no other clients in.
    """
    theirs = view.ask(entrypoints.gateway_tls, fqdn) if own.clients is not None else None
    return theirs is not None and _checked(own.clients) != _checked(theirs.clients)


def overruled(view: View, place: Place, fqdn: str, own: nodes.Tls) -> Iterator[Problem]:
    """What a Gateway that terminates TLS for a host does in another way than its HTTPProxy asks."""
    theirs = view.ask(entrypoints.gateway_tls, fqdn)
    if theirs is not None and theirs.minimum < own.minimum:
        text = f"has no effect: a Gateway terminates TLS for {fqdn}, and takes {theirs.minimum}"
        yield problems.not_enforced(place.at("minimumProtocolVersion"), text)
    if is_overruled(view, fqdn, own):
        text = f"a Gateway terminates TLS for {fqdn}, and does not check clients in this way"
        yield problems.client_validation_overruled(place.at("clientValidation"), text)


def _checked(asked: nodes.ClientValidation | None) -> nodes.ClientValidation | None:
    """The validation without `forward`, to compare only what is checked."""
    return replace(asked, forward=None) if asked is not None else None


def _trust(view: View, place: Place, written: crd.DownstreamValidation) -> nodes.Trust | None:
    if written.ca_secret is None:
        return None
    say, revocations = problems.CLIENT_AUTHORITY, None
    authority = delegation.secret(view, place.at("caSecret"), written.ca_secret, say)
    if written.crl_secret:
        revocations = delegation.secret(view, place.at("crlSecret"), written.crl_secret, say)
    found = nodes.Trust((ObjectRef("Secret", *authority),), revocations)
    if refusal := view.ask(trust.refusal, found):
        raise Refused(problems.client_validation_not_valid(place, refusal.message))
    return found


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
