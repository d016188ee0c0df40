"""Every code that `contour analyze` can report, and what to do about it.

A code is the reason of a status if a status reports the same (`dag.problems.reasons`), else a
member of `Code`. Codes never change between releases: scripts select by them. docs/findings.md is
generated from this.
"""

from collections.abc import Mapping
from enum import auto
from typing import Literal, NamedTuple

from dag.problems.reasons import (
    CommandLine,
    Contour,
    EnvoyGateway,
    Gateway,
    Marin3r,
    Own,
    Referent,
    Word,
)

Severity = Literal["error", "warning", "info"]


class Code(Word):
    """What the checks find, and `Note`: what a status says without a reason of its own."""

    BackendNotVerified = auto()
    CertificateForOtherHost = auto()
    ClientCertificateBypassed = auto()
    ConnectionsTaken = auto()
    HostShared = auto()
    Note = auto()
    RedirectLoop = auto()
    RouteShadowed = auto()
    SecretUnused = auto()
    TokenOverPlainHTTP = auto()
    WeakCipher = auto()
    WeakSignature = auto()


class Entry(NamedTuple):
    """What is known of a code that is no reason of a status."""

    severity: Severity
    why: str
    """Why it matters: one sentence."""
    remedy: str


OWN: Mapping[Word, Entry] = {
    Code.BackendNotVerified: Entry(
        "warning",
        "Whoever takes the backend's address can read and answer its requests.",
        "HTTPProxy: set `validation` with `caSecret` and `subjectName` on the service. "
        "Gateway API: attach a BackendTLSPolicy to the Service.",
    ),
    Code.CertificateForOtherHost: Entry(
        "error",
        "Clients compare the names in a certificate with the host that they ask for.",
        "Issue a certificate with the host among its subject alternative names, or refer to "
        "another Secret.",
    ),
    Code.ClientCertificateBypassed: Entry(
        "warning",
        "Client certificates are part of TLS: plain HTTP has none, so the guard is passed by.",
        "Redirect plain HTTP: remove `permitInsecure` from the HTTPProxy's routes, or attach the "
        "HTTPRoute to the HTTPS listener only.",
    ),
    Code.ConnectionsTaken: Entry(
        "warning",
        "Where TLS connections for a host are forwarded unread, one object has all of them: the "
        "Gateway API beats HTTPProxy, and HTTPProxy beats Ingress.",
        "Use another host, or remove one of the two objects.",
    ),
    Code.HostShared: Entry(
        "info",
        "Where their routes match the same requests, the Gateway API beats HTTPProxy, and "
        "HTTPProxy beats Ingress.",
        "Nothing, if this is a step of a migration; else remove the objects that are left over.",
    ),
    CommandLine.InvalidDocument: Entry(
        "error",
        "An API server would refuse the object, or a field of it would be lost.",
        "Correct the field that the message names.",
    ),
    CommandLine.NoEffect: Entry(
        "warning",
        "A part of the document is not known, or it is read elsewhere.",
        "Set the field that the message names, or remove this one.",
    ),
    Code.Note: Entry(
        "warning",
        "A part of the object has no effect, or not the one that its author may expect.",
        "Read the message; it names the field.",
    ),
    CommandLine.NotServed: Entry(
        "warning",
        "The object is for another controller, or a name in it is misspelt.",
        "Correct the class or the parent that the message names, or leave the object to its "
        "controller.",
    ),
    Code.RedirectLoop: Entry(
        "error",
        "Clients follow redirects until they give up, so nobody gets an answer.",
        "Redirect to another host, scheme or path, or attach the redirect only to the listener "
        "whose requests it is for.",
    ),
    Code.RouteShadowed: Entry(
        "warning",
        "Envoy takes the first route that matches, so this one never gets a request.",
        "Remove the route, or make its match narrower than that of the other route.",
    ),
    Code.SecretUnused: Entry(
        "info",
        "A private key that nobody needs is one that can be stolen.",
        "Remove the Secret if no pod mounts it, or correct the name in the object that should use "
        "it.",
    ),
    CommandLine.ServiceWithoutEndpoints: Entry(
        "warning",
        "Requests are answered with 503, and connections of streams are closed.",
        "Start pods that the Service selects and that are ready, or correct its selector.",
    ),
    Code.TokenOverPlainHTTP: Entry(
        "warning",
        "A token that is sent without encryption can be read and used by others on the way.",
        "Serve the host over TLS only, and redirect plain HTTP.",
    ),
    CommandLine.UnreadableFile: Entry(
        "error",
        "Nobody knows what the file says, so its objects are not served.",
        "Correct the line that the message names.",
    ),
    CommandLine.UnknownKind: Entry(
        "warning",
        "Objects of this kind have no effect here.",
        "Remove the object from these manifests, or leave it to the controller that reads it.",
    ),
    Code.WeakCipher: Entry(
        "warning",
        "Without forward secrecy, recorded connections can be read by whoever gets the key later; "
        "CBC ciphers have known attacks (RFC 9325).",
        "Remove the ciphers; the default ones are without them.",
    ),
    Code.WeakSignature: Entry(
        "error",
        "Clients have stopped accepting certificates that are signed with SHA-1 or MD5.",
        "Issue the certificate again with SHA-256.",
    ),
}

_CORRECT = "Correct the field that the message names; the message says what is allowed."
_SPLIT = "Keep one of the two, or make them differ."
_NAMED = "Create the object, or correct the name."
_MOVE = "Remove the field, or move it to where it has an effect."

REMEDIES: Mapping[str, str] = {
    Own.CountedInMemory: "Set `rateLimitFilters.redis`, if counts have to outlive the leader.",
    Own.KeysNotFetched: "Let the server of the keys answer, or correct its address.",
    **dict.fromkeys(
        (
            Contour.AuthBadAllowedHeader, Contour.AuthBadResourceVersion,
            Contour.AuthResponseTimeoutInvalid, Contour.ClientValidationInvalid,
            Contour.CookieRewritePoliciesInvalid, Contour.HeaderMatchConditionsNotValid,
            Contour.HealthCheckPolicyInvalid, Contour.IncompatibleIPAddressFilters,
            Contour.InvalidCIDR, Contour.InvalidJWTVerificationPolicy, Contour.JWKSSourceMissing,
            Contour.LocalJWKSInvalid, Contour.MustHavePrefix, Contour.NothingDefined,
            Contour.NoServicesAndInclude, Contour.PathMatchConditionsNotValid,
            Contour.PolicyDidNotParse, Contour.QueryParameterMatchConditionsNotValid,
            Contour.RateLimitPolicyNotValid, Contour.RemoteJWKSCacheDurationInvalid,
            Contour.RemoteJWKSPortInvalid, Contour.RemoteJWKSSchemeInvalid,
            Contour.RemoteJWKSTimeoutInvalid, Contour.RemoteJWKSURIInvalid,
            Contour.RemoteJWKSUpstreamValidationInvalid, Contour.RequestHeadersPolicyInvalid,
            Contour.RequestRedirectPolicy, Contour.ResponseHeaderPolicyInvalid,
            Contour.ResponseHeadersPolicyInvalid, Contour.RouteActionCountNotValid,
            Contour.SlowStartInvalid, Contour.TLSConfigNotValid, Contour.TimeoutPolicyNotValid,
            Gateway.Invalid, Gateway.InvalidKind, Gateway.InvalidListenerFilter,
            Gateway.InvalidParameters, Gateway.InvalidRouteKinds, Gateway.UnsupportedAddress,
            Gateway.UnsupportedProtocol, Gateway.UnsupportedValue, Own.AuthBadPathPrefix,
            Own.ClaimsToHeadersInvalid,
            Own.DirectResponsePolicy, Own.ErrorPagesInvalid, Own.FQDNNotValid,
            Own.InvalidResources, Own.InvalidValue, Own.LocalAddresses, Own.PathNotValid,
            Own.ReplacementNotValid, Own.RetryPolicyNotValid, Own.UnknownField,
        ),
        _CORRECT,
    ),
    **dict.fromkeys(
        (
            Contour.AmbiguousReplacement, Contour.DuplicateMatchConditions,
            Contour.DuplicateProviderName, Contour.DuplicateReplacement,
            Contour.MultipleDefaultProvidersSpecified, Gateway.Conflicted,
            Gateway.HostnameConflict, Gateway.ProtocolConflict,
            Own.DuplicatePath,
        ),
        _SPLIT,
    ),
    **dict.fromkeys(
        (
            Contour.ExtensionServiceNotFound, Contour.FallbackNotPresent, Contour.IncludeNotFound,
            Contour.JWTProviderNotDefined, Gateway.BackendNotFound, Gateway.InvalidCACertificateRef,
            Gateway.InvalidCertificateRef, Gateway.InvalidClientCertificateRef,
            Gateway.InvalidListenerFilterRef, Gateway.TargetNotFound,
            Own.CertificateMissing, Own.SecretNotFound, Own.UnresolvedReference,
            Own.WaitingForReferences,
        ),
        _NAMED,
    ),
    **dict.fromkeys(
        (
            Contour.CACertificateNotDelegated, Contour.DelegationNotPermitted,
            Contour.FallbackNotDelegated, Contour.RemoteJWKSCACertificateNotDelegated,
        ),
        "Create a TLSCertificateDelegation in the namespace of the Secret.",
    ),
    **dict.fromkeys(
        (
            Contour.AuthContextForHTTP, Contour.AuthNotPermitted, Contour.IgnoredField,
            Contour.InconsistentProtocol, Contour.JWTVerificationNotPermitted,
            Contour.TLSIncompatibleFeatures, Own.CORSNotPermitted, Own.MaxRequestBytesNotPermitted,
            Own.UnknownAnnotation, Own.UnsupportedField,
        ),
        _MOVE,
    ),
    Contour.DuplicateVhost: "Use another host, or include this HTTPProxy from the one that has it.",
    Contour.ErrorIdentifyingListener: "Give the Gateway one listener for the protocol, or set "
    "`envoy.externalPorts` in the ContourConfiguration.",
    Contour.FallbackNotValid: "Put a certificate and its key into the Secret.",
    Contour.IncludeCreatesCycle: "Remove one of the includes of the circle.",
    Contour.OlderGatewayClassExists: "Remove the older GatewayClass, or use it.",
    Contour.OlderGatewayExists: "Attach the routes to the older Gateway, or set `gateway.mode: "
    "PerGateway` in the ContourConfiguration.",
    Contour.Orphaned: "Add a `virtualhost`, or include this HTTPProxy from one that has it.",
    Contour.RootIncludesRoot: "Remove the `virtualhost` of the included HTTPProxy.",
    Contour.RootProxyNotAllowedInNamespace: "Move the HTTPProxy into a namespace that the "
    "ContourConfiguration allows for roots.",
    Contour.RuleMatchConflict: "Remove the rule, or change its matches: routes that come "
    "first have them.",
    Contour.RuleMatchPartiallyConflict: "Change the matches that routes that come first have.",
    Contour.SecretNotValid: "Create a Secret of type kubernetes.io/tls with a certificate and its "
    "key.",
    Contour.ServiceUnresolvedReference: "Create the Service, or correct its name or port.",
    Contour.TLSMustBeConfigured: "Set `virtualhost.tls`.",
    Contour.TLSUpstreamValidation: "Correct `caSecret` and `subjectName` of the service's "
    "`validation`.",
    Contour.UnsupportedServiceType: "Set `enableExternalNameService: true` in the "
    "ContourConfiguration if you trust whoever writes Services.",
    EnvoyGateway.Disabled: "Set `gateway.envoyPatchPolicies` in the ContourConfiguration if you "
    "trust whoever writes these policies with the Envoys.",
    EnvoyGateway.ResourceNotFound: _NAMED,
    Gateway.AddressNotAssigned: "Set `ingress.statusAddress` in the ContourConfiguration where no "
    "load balancer assigns addresses.",
    **dict.fromkeys(
        (Gateway.AddressNotUsable, Gateway.NotAssigned, Gateway.PartiallyAssigned),
        "Request an address that the load balancer can assign.",
    ),
    Gateway.ConfigurationChanged: "Ask clients for a certificate that is checked, unless this is "
    "meant.",
    Gateway.InvalidCACertificateKind: "Refer to a ConfigMap or Secret with `ca.crt`, or to a "
    "ClusterTrustBundle if the API server serves them.",
    Gateway.ListenersNotResolved: "Correct what the conditions of the listeners name.",
    Gateway.ListenersNotValid: "Correct what the conditions of the listeners name.",
    Gateway.NoMatchingListenerHostname: "Make a hostname of the route fit that of the listener.",
    Gateway.NoMatchingParent: "Correct the section or the port that the route names. If the parent "
    "is not served, correct the parent; its status says what is wrong.",
    Gateway.NoResources: "Start an Envoy of the fleet.",
    Gateway.NoValidCACertificate: "Put PEM certificates into `ca.crt`.",
    Gateway.NotAllowed: "Allow the namespace in `allowedListeners` of the Gateway; that of an "
    "EnvoyPatchPolicy in `gateway.envoyPatchPolicies.namespaces` of the ContourConfiguration.",
    Gateway.NotAllowedByListeners: "Allow the route's namespace and kind in `allowedRoutes` of the "
    "listener, or name a listener whose protocol takes the kind.",
    Gateway.OverlappingHostnames: "Make the hostnames differ, unless this is meant.",
    Gateway.ParentNotAccepted: "Correct the parent; its status says what is wrong.",
    Gateway.ParentNotProgrammed: "Correct the parent; its status says what is wrong.",
    Gateway.Pending: "Wait; `contour config` shows for what.",
    Gateway.RefNotPermitted: "Create a ReferenceGrant in the namespace of the object that is "
    "referred to.",
    Gateway.UnsupportedVersion: "Install a release of the Gateway API that is supported.",
    Marin3r.AllRevisionsTainted: "Correct the resources as Envoy's words in the message say.",
    Marin3r.CantPublishDesiredVersion: "Correct the resources as Envoy's words in the message say.",
    Own.CertificateExpired: "Renew the certificate.",
    Own.CertificateExpiring: "Renew the certificate.",
    Own.CertificateNotYetValid: "Wait, or correct the clock of whoever issued it.",
    Own.ChangedByOthers: "Find out who changes the object, and let one of the two do it.",
    Own.DuplicateHost: "Use another host, or remove the other object.",
    Own.EndpointsLeftOut: "Correct the addresses in the EndpointSlice.",
    Own.ForeignAnnotation: "Use the field that the message names, and remove the annotation.",
    Own.ForeignGuard: "Use the field that the message names, and remove the annotation.",
    Own.IncludeTooDeep: "Include from fewer levels; 100 is the limit.",
    Own.NodeIDTaken: "Use another node ID, or remove the older EnvoyConfig.",
    Own.AnswerNotRead: "Nothing has to be done if the extension means what the message names.",
    Own.NotAnswered: "Start the extension server, or correct what it answers.",
    Own.NotApplied: "Remove the cause that the message names.",
    Own.NotOnEveryEnvoy: "Upgrade the Envoys that the message names.",
    Own.NotProvisioned: "See the message for what could not be made.",
    Own.OldRelease: "Upgrade the Envoys that the message names.",
    Own.Progressing: "Wait until the rollout is complete.",
    Own.Refused: "Correct the object, or the Secret or bundle that the message names, as Envoy's "
    "words in the message say.",
    Own.SeveralConfigurations: "Keep one ContourConfiguration.",
    Own.TooManyProblems: "Correct the problems that are shown; the rest follows.",
    Own.TooManyRoutes: "Split the host, or include fewer HTTPProxies.",
    Own.UnsupportedBackend: "Refer to a Service.",
}  # fmt: skip
"""What to do, by the reason of a status."""


def remedy(code: str) -> str:
    """What to do about a code; empty if it says that all is well."""
    own = entry(code)
    return own.remedy if own is not None else REMEDIES.get(code, "")


def entry(code: str) -> Entry | None:
    """What is known of a code; None if it is the reason of a status."""
    return _BY_TEXT.get(code)


_BY_TEXT: Mapping[str, Entry] = {str(code): found for code, found in OWN.items()}

CODES = frozenset(
    str(it)
    for words in (Code, CommandLine, Contour, EnvoyGateway, Gateway, Marin3r, Own, Referent)
    for it in words
)  # fmt: skip
"""Whatever can be the code of a finding."""
