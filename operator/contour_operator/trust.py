"""Which instances may reach beyond their namespace where the API server cannot check their authors.

An API server of Kubernetes 1.30 or newer refuses a ContourConfiguration whose author does not have
the rights that the instance will have (`provisioning.admission`). An older one cannot do that, and
the operator does not know who the author is. There the administrator names the namespaces whose
authors are trusted (`--trusted-namespaces`); elsewhere an instance watches its own namespace alone.
The flag holds on newer API servers too, if it is given.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from contour_operator import desired
from contour_operator.reasons import Reason
from crds.contourconfiguration import ContourConfiguration
from kube.client import Client
from kube.discovery import Discovery, Wanted
from provisioning import admission
from provisioning.admission import Demand
from provisioning.keeping.problems import Problem

_POLICIES = Wanted(
    "admissionregistration.k8s.io", ("v1",), "validatingadmissionpolicies", namespaced=False
)


class Trust:
    """Which authors are trusted, by the flag and by what the API server can check."""

    def __init__(self, client: Client, namespaces: tuple[str, ...] | None = None) -> None:
        """`namespaces` is None if the administrator has not set the flag; empty trusts nobody."""
        self._discovery = Discovery(client)
        self._namespaces = namespaces

    async def problems(self, configuration: ContourConfiguration) -> list[Problem]:
        """Why no instance may be made for a configuration; raises request errors."""
        namespace = configuration.metadata.namespace
        named = self._namespaces
        if named is None and await self._discovery.resource(_POLICIES) is not None:
            return []
        if any(fnmatchcase(namespace, it) for it in named or ()):
            return []
        return [_problem(it, namespace) for it in demands(configuration)]


def demands(configuration: ContourConfiguration) -> Iterator[Demand]:
    """The rights that an instance would have beyond its own namespace. Pure."""
    own, spec = configuration.metadata.namespace, configuration.spec
    watched = spec.contour.watch_namespaces if spec.contour is not None else ()
    if not watched:
        yield admission.SECRETS
    for name in watched:
        if name != own:
            yield admission.of_namespace(name)
    if desired.makes_outer_class(spec):
        yield admission.CLASSES
    if desired.sidecars(spec):
        yield admission.SIDECARS
    limits = spec.rate_limit_filters
    if limits is not None and limits.service is not None and limits.service.image is not None:
        yield admission.IMAGES


def _problem(found: Demand, namespace: str) -> Problem:
    way_out = f"name {namespace} alone, or let an administrator trust its authors: "
    option = f"--trusted-namespaces={namespace} of the operator"
    return Problem(Reason.NOT_TRUSTED, f"{found.words}; {way_out}{option}")
