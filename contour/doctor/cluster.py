"""What `contour serve` needs of a cluster: an API server that answers, CRDs, and rights."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contour.doctor import namesakes
from contour.doctor.check import Check
from crds import kinds, raw
from crds.customresourcedefinition import GATEWAY_CLASSES_CRD
from crds.raw import Raw
from dag.gateway import crdversions
from kube import errors
from kube.client import Client
from kube.credentials import Access, AccessError
from kube.discovery import Discovery, Wanted
from kube.resources import Resource
from provisioning import rights

OLDEST = (1, 29)
"""The oldest release of Kubernetes that is supported (docs/installation.md)."""

_AT_ONCE = 8  # requests
_TIMEOUT = 15.0  # seconds that the first request may take
_DEFINITIONS = Resource(kinds.EXTENSIONS, "v1", "customresourcedefinitions", namespaced=False)
_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", namespaced=False)
_REVIEWS_OF_OTHERS = _REVIEWS._replace(plural="subjectaccessreviews")


class Cluster(NamedTuple):
    """The options of `contour serve` and of the installation that matter."""

    namespace: str = ""
    """The namespace of the instance; empty for that of the credentials."""
    watched: Sequence[str] = ()
    """Namespaces; none means all."""
    managed: bool = False
    """Whether the control plane manages its Envoys."""
    lease: str = "leader-elect"
    """The Lease by which its replicas elect their leader."""
    service_account: str = ""
    """The service account whose rights are checked, in the namespace of the instance; empty: those
    of the user."""


class Need(NamedTuple):
    """Rights that are needed in a namespace."""

    where: str
    """Empty for all namespaces."""
    rules: Sequence[rights.Rule]


class Right(NamedTuple):
    """One thing that a rule allows (Kubernetes, `ResourceAttributes`)."""

    verb: str
    group: str
    resource: str
    """With its subresource, as in `pods/status`."""
    name: str = ""

    @property
    def subject(self) -> str:
        """What it is about, as `kubectl auth can-i` writes it."""
        full = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{full}/{self.name}" if self.name else full


async def checks(access: Access, asked: Cluster) -> list[Check]:
    """All checks. If the API server does not answer, no further checks follow."""
    found: list[Check] = []
    try:
        async with Client(access, "contour-doctor") as client:
            found.append(await _server(client))
            asked = asked._replace(namespace=asked.namespace or await client.namespace())
            discovery = Discovery(client, good_for=60.0)
            found.append(await _our_definitions(discovery))
            is_everywhere = not asked.watched
            found += await namesakes.checks(client, asked.namespace, is_everywhere=is_everywhere)
            if is_everywhere:
                found.append(await _gateway_api(client, discovery))
            found += [await _permitted(client, asked, need) for need in needs(asked)]
    except AccessError as error:
        found.append(Check("API server", "error", str(error)))
    except errors.RequestError as error:
        remedy = "check the address in the kubeconfig, the network and the credentials"
        found.append(Check("API server", "error", str(error), remedy))
    return found


async def _server(client: Client) -> Check:
    answer = await client.get("/version", timeout=_TIMEOUT)
    url = (await client.access.credentials()).url
    version = str(answer.get("gitVersion"))
    found = f"{url} answers: Kubernetes {version}"
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST:
        return Check("API server", "ok", found)
    oldest = ".".join(map(str, OLDEST))
    return Check("API server", "error", found, f"use Kubernetes {oldest} or newer")


async def _our_definitions(discovery: Discovery) -> Check:
    ours = [it for it in kinds.IN_CLUSTERS if it.ours and not it.opt_in]
    missing = await _missing(discovery, ours)
    if not missing:
        return Check("CRDs", "ok", "all of projectcontour.io are installed")
    found = f"not installed: {', '.join(missing)}"
    return Check("CRDs", "error", found, "run  contour manifests --crds | kubectl apply -f -")


async def _gateway_api(client: Client, discovery: Discovery) -> Check:
    name, every = "Gateway API", [it for it in kinds.IN_CLUSTERS if it.group == kinds.GATEWAY]
    missing = await _missing(discovery, every)
    remedy = f"install the CRDs of the Gateway API, {crdversions.EVERY}"
    if len(missing) == len(every):
        return Check(
            name, "warning", "not installed: no Gateway is served", f"to use Gateways, {remedy}"
        )
    version = await _bundle(client)
    found = version or "installed, in a version that cannot be read with these rights"
    if missing:
        found += f"; not installed: {', '.join(missing)}"
    if version and version.rpartition(".")[0] not in crdversions.SUPPORTED:
        return Check(name, "warning", f"{found}: not a supported version", remedy)
    return Check(name, "ok", found)


async def _missing(discovery: Discovery, wanted: Sequence[kinds.Kind]) -> list[str]:
    served = [
        await discovery.resource(Wanted(it.group, it.versions, it.plural, it.namespaced))
        for it in wanted
    ]
    return [it.plural for it, found in zip(wanted, served, strict=True) if found is None]


async def _bundle(client: Client) -> str:
    """The version of the Gateway API's CRDs; empty if it cannot be read."""
    only = {"fieldSelector": f"metadata.name={GATEWAY_CLASSES_CRD}"}
    try:
        answer = await client.list_page(_DEFINITIONS.path(), only)
    except errors.Refused as error:
        if error.code == 403:
            return ""
        raise
    for it in raw.items(answer.get("items")):
        return str(raw.at(it, "metadata", "annotations", crdversions.BUNDLE_VERSION) or "")
    return ""


def needs(asked: Cluster) -> Iterator[Need]:
    """The rights that the manifests of such an installation grant the control plane."""
    home = rights.at_home(asked.lease, not asked.watched, makes_fleet=asked.managed)
    rules = {it: rights.in_a_watched_namespace() for it in asked.watched} or {
        "": rights.everywhere()
    }
    rules[asked.namespace] = [*rules.get(asked.namespace, ()), *home]
    for where, wanted in rules.items():
        yield Need(where, wanted)


async def _permitted(client: Client, asked: Cluster, need: Need) -> Check:
    where = f"namespace {need.where}" if need.where else "all namespaces"
    every, slots = list(_rights(need.rules)), asyncio.Semaphore(_AT_ONCE)

    async def is_allowed(right: Right) -> bool:
        async with slots:
            return await _is_allowed(client, asked, need.where, right)

    answers = await asyncio.gather(*map(is_allowed, every))
    denied = [it for it, allowed in zip(every, answers, strict=True) if not allowed]
    who = f"ServiceAccount {asked.namespace}/{asked.service_account}"
    subject = who if asked.service_account else "these credentials"
    if not denied:
        found = f"{subject}: all that `contour serve` needs"
        return Check(f"rights in {where}", "ok", found)
    return Check(
        f"rights in {where}", "error", f"{subject}: may not {_listed(denied)}",
        "apply what `contour manifests` prints, or grant the same; check the ServiceAccount of "
        "the control plane with --service-account",
    )  # fmt: skip


def _rights(rules: Sequence[rights.Rule]) -> Iterator[Right]:
    for rule in rules:
        groups, resources, verbs, names = (
            [str(it) for it in raw.items(rule.get(field))]
            for field in ("apiGroups", "resources", "verbs", "resourceNames")
        )
        for group in groups:
            for resource in resources:
                for name in names or [""]:
                    yield from (Right(verb, group, resource, name) for verb in verbs)


async def _is_allowed(client: Client, asked: Cluster, namespace: str, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes: Raw = {
        "namespace": namespace, "verb": right.verb, "group": right.group, "resource": resource,
        "subresource": subresource, "name": right.name,
    }  # fmt: skip
    spec: Raw = {"resourceAttributes": attributes}
    reviews = _REVIEWS
    if account := asked.service_account:
        reviews = _REVIEWS_OF_OTHERS
        spec["user"] = f"system:serviceaccount:{asked.namespace}:{account}"
        spec["groups"] = [
            "system:authenticated", "system:serviceaccounts",
            f"system:serviceaccounts:{asked.namespace}",
        ]  # fmt: skip
    body = {"apiVersion": reviews.api_version, "kind": _KINDS[reviews], "spec": spec}
    answer = await client.create(reviews.path(), body)
    return raw.at(answer, "status", "allowed") is True


_KINDS = {_REVIEWS: "SelfSubjectAccessReview", _REVIEWS_OF_OTHERS: "SubjectAccessReview"}


def _listed(denied: Sequence[Right]) -> str:
    """`list, watch services; patch gateways/status.gateway.networking.k8s.io`."""
    verbs: defaultdict[str, list[str]] = defaultdict(list)
    for right in denied:
        verbs[right.subject].append(right.verb)
    subjects: defaultdict[str, list[str]] = defaultdict(list)
    for subject, some in verbs.items():
        subjects[", ".join(some)].append(subject)
    return "; ".join(f"{some} {', '.join(them)}" for some, them in subjects.items())
