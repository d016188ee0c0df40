"""The words of statuses: the types and the reasons of conditions.

A member is spelled as users see it. `Contour` and `Gateway` are upstream's, character for
character; `Own` has no counterpart there and is explained in docs/troubleshooting.md. Sources: the
status package of Contour 1.33; the Go constants of the Gateway API v1.6.1.
"""

from enum import StrEnum, auto


class Word(StrEnum):
    """A word of a status."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[str]) -> str:
        return name


class ErrorType(Word):
    """The types of the errors and warnings in the `Valid` condition of Contour's kinds."""

    AuthError = auto()
    CORSError = auto()
    IPFilterError = auto()
    IncludeError = auto()
    JWTVerificationError = auto()
    ListenerError = auto()
    Orphaned = auto()
    PrefixReplaceError = auto()
    RootNamespaceError = auto()
    RouteError = auto()
    ServiceError = auto()
    SpecError = auto()
    TCPProxyError = auto()
    TCPProxyIncludeError = auto()
    TLSError = auto()
    VirtualHostError = auto()
    # Upstream has none for these.
    BackendError = auto()
    EnvoyError = auto()
    ExtensionError = auto()
    FleetError = auto()
    PathError = auto()


class ConditionType(Word):
    """The types of the conditions of the Gateway API's kinds."""

    Accepted = auto()
    AddressesAssigned = auto()
    Conflicted = auto()
    InsecureFrontendValidationMode = auto()
    Merged = auto()
    Overridden = auto()
    OverlappingTLSConfig = auto()
    PartiallyInvalid = auto()
    Programmed = auto()
    ResolvedRefs = auto()
    SupportedVersion = auto()
    # The Gateway API has none for this.
    UnservedGuard = auto()


class Contour(Word):
    """Reasons of Contour."""

    AmbiguousReplacement = auto()
    AuthBadAllowedHeader = auto()
    AuthBadResourceVersion = auto()
    AuthContextForHTTP = auto()
    AuthNotPermitted = auto()
    AuthResponseTimeoutInvalid = auto()
    CACertificateNotDelegated = auto()
    ClientValidationInvalid = auto()
    CookieRewritePoliciesInvalid = auto()
    DelegationNotPermitted = auto()
    DuplicateMatchConditions = auto()
    DuplicateProviderName = auto()
    DuplicateReplacement = auto()
    DuplicateVhost = auto()
    ErrorIdentifyingListener = auto()
    ErrorPresent = auto()
    ExtensionServiceNotFound = auto()
    FallbackNotDelegated = auto()
    FallbackNotPresent = auto()
    FallbackNotValid = auto()
    HeaderMatchConditionsNotValid = auto()
    HealthCheckPolicyInvalid = auto()
    IgnoredField = auto()
    IncludeCreatesCycle = auto()
    IncludeNotFound = auto()
    IncompatibleIPAddressFilters = auto()
    InconsistentProtocol = auto()
    InvalidCIDR = auto()
    InvalidJWTVerificationPolicy = auto()
    JWKSSourceMissing = auto()
    JWTProviderNotDefined = auto()
    JWTVerificationNotPermitted = auto()
    LocalJWKSInvalid = auto()
    MultipleDefaultProvidersSpecified = auto()
    MustHavePrefix = auto()
    NoServicesAndInclude = auto()
    NothingDefined = auto()
    OlderGatewayClassExists = auto()
    OlderGatewayExists = auto()
    Orphaned = auto()
    PathMatchConditionsNotValid = auto()
    PolicyDidNotParse = auto()
    QueryParameterMatchConditionsNotValid = auto()
    RateLimitPolicyNotValid = auto()
    RemoteJWKSCACertificateNotDelegated = auto()
    RemoteJWKSCacheDurationInvalid = auto()
    RemoteJWKSPortInvalid = auto()
    RemoteJWKSSchemeInvalid = auto()
    RemoteJWKSTimeoutInvalid = auto()
    RemoteJWKSURIInvalid = auto()
    RemoteJWKSUpstreamValidationInvalid = auto()
    RequestHeadersPolicyInvalid = auto()
    RequestRedirectPolicy = auto()
    ResponseHeaderPolicyInvalid = auto()  # of routes
    ResponseHeadersPolicyInvalid = auto()  # of Services
    RootIncludesRoot = auto()
    RootProxyNotAllowedInNamespace = auto()
    RouteActionCountNotValid = auto()
    RuleMatchConflict = auto()
    RuleMatchPartiallyConflict = auto()
    SecretNotValid = auto()
    ServiceUnresolvedReference = auto()
    SlowStartInvalid = auto()
    TLSConfigNotValid = auto()
    TLSIncompatibleFeatures = auto()
    TLSMustBeConfigured = auto()
    TLSUpstreamValidation = auto()
    TimeoutPolicyNotValid = auto()
    UnsupportedServiceType = auto()
    Valid = auto()


class Marin3r(Word):
    """The types of the conditions of an EnvoyConfig, and their reasons, as MARIN3R writes them."""

    CacheOutOfSync = auto()
    RollbackFailed = auto()
    Valid = auto()  # upstream has none for this
    # Reasons.
    AllRevisionsTainted = auto()
    CantPublishDesiredVersion = auto()
    DesiredVersionPublished = auto()
    Recovered = auto()


class Gateway(Word):
    """Reasons of the Gateway API."""

    Accepted = auto()
    AddressNotAssigned = auto()
    AddressNotUsable = auto()
    BackendNotFound = auto()
    ConfigurationChanged = auto()
    Conflicted = auto()
    HostnameConflict = auto()
    Invalid = auto()
    InvalidCACertificateKind = auto()
    InvalidCACertificateRef = auto()
    InvalidCertificateRef = auto()
    InvalidClientCertificateRef = auto()
    InvalidKind = auto()
    InvalidListenerFilter = auto()
    InvalidListenerFilterRef = auto()
    InvalidParameters = auto()
    InvalidRouteKinds = auto()
    ListenersNotResolved = auto()
    ListenersNotValid = auto()
    Merged = auto()
    NoMatchingListenerHostname = auto()
    NoMatchingParent = auto()
    NoResources = auto()
    NoValidCACertificate = auto()
    NotAllowed = auto()
    NotAllowedByListeners = auto()
    NotAssigned = auto()
    Overridden = auto()
    OverlappingHostnames = auto()
    ParentNotAccepted = auto()
    ParentNotProgrammed = auto()
    PartiallyAssigned = auto()
    Pending = auto()
    Programmed = auto()
    ProtocolConflict = auto()
    RefNotPermitted = auto()
    ResolvedRefs = auto()
    SupportedVersion = auto()
    TargetNotFound = auto()
    UnsupportedAddress = auto()
    UnsupportedProtocol = auto()
    UnsupportedValue = auto()
    UnsupportedVersion = auto()


class Own(Word):
    """Reasons of this project."""

    AnswerNotRead = auto()
    AuthBadPathPrefix = auto()
    CORSNotPermitted = auto()
    CertificateExpired = auto()
    CertificateExpiring = auto()
    CertificateMissing = auto()
    CertificateNotYetValid = auto()
    ChangedByOthers = auto()
    ClaimsToHeadersInvalid = auto()
    CountedInMemory = auto()
    DirectResponsePolicy = auto()
    DuplicateHost = auto()
    DuplicatePath = auto()
    EndpointsLeftOut = auto()
    ErrorPagesInvalid = auto()
    FQDNNotValid = auto()
    ForeignAnnotation = auto()
    ForeignGuard = auto()
    IncludeTooDeep = auto()
    InvalidResources = auto()
    InvalidValue = auto()
    KeysNotFetched = auto()
    LocalAddresses = auto()
    MaxRequestBytesNotPermitted = auto()
    NodeIDTaken = auto()
    NotAnswered = auto()
    NotApplied = auto()
    NotOnEveryEnvoy = auto()
    NotProvisioned = auto()
    OldRelease = auto()
    PathNotValid = auto()
    Progressing = auto()
    Refused = auto()
    ReplacementNotValid = auto()
    RetryPolicyNotValid = auto()
    SecretNotFound = auto()
    SeveralConfigurations = auto()
    TooManyProblems = auto()
    TooManyRoutes = auto()
    UnknownAnnotation = auto()
    UnknownField = auto()
    UnresolvedReference = auto()
    UnsupportedBackend = auto()
    UnsupportedField = auto()
    WaitingForReferences = auto()


class Referent(Word):
    """Why an object that others refer to cannot be used; users see the reason of the referrer."""

    ExternalNameRefused = auto()
    ForeignGuard = auto()
    InvalidContent = auto()
    PortNotFound = auto()
    PortNotTCP = auto()
    ServiceNotFound = auto()


class EnvoyGateway(Word):
    """Reasons of Envoy Gateway that the Gateway API does not have."""

    Disabled = auto()
    ResourceNotFound = auto()


class CommandLine(Word):
    """Reasons that only the command line reports, and no status."""

    InvalidDocument = auto()
    NoEffect = auto()
    NotServed = auto()
    ServiceWithoutEndpoints = auto()
    UnknownKind = auto()
    UnreadableFile = auto()
