"""Short ways to write EnvoyProxies, and what is read of one."""

from functools import reduce

import yaml

from crds.decode import Decoded, decode
from crds.envoygateway.envoyproxy import EnvoyProxy
from dag.envoyproxy import reading
from dag.envoyproxy.asked import Asked, Shape, applied

GROUP = "gateway.envoyproxy.io"


def proxy(spec: str, name: str = "projectcontour/proxy", group: str = GROUP) -> str:
    """An EnvoyProxy as a manifest."""
    namespace, _, own = name.rpartition("/")
    metadata = f"{{name: {own}, namespace: {namespace or 'default'}}}"
    head = f"---\napiVersion: {group}/v1alpha1\nkind: EnvoyProxy\n"
    return f"{head}metadata: {metadata}\nspec: {{{spec}}}\n"


def kubernetes(text: str) -> str:
    """The specification with a provider for Kubernetes."""
    return f"provider: {{type: Kubernetes, kubernetes: {{{text}}}}}"


def deployment(text: str) -> str:
    """The specification with a Deployment."""
    return kubernetes(f"envoyDeployment: {{{text}}}")


def decoded(spec: str) -> Decoded:
    """The outcome of reading the manifest."""
    found = decode(yaml.load(proxy(spec), yaml.CSafeLoader))
    assert isinstance(found, Decoded)
    return found


def asked(spec: str) -> Asked:
    """What an EnvoyProxy without errors asks for."""
    found, errors = reading.resolved(_object(spec))
    assert errors == ()
    return found


def shape(*specs: str) -> Shape:
    """What they make of a fleet of which nothing else is said, the nearest last."""
    return reduce(applied, map(asked, specs), Shape())


def refusals(spec: str) -> list[str]:
    """What is wrong with it: of a value that the schema refuses, or of what the rules find."""
    found = decoded(spec)
    if found.errors:
        return [str(it) for it in found.errors]
    return [it.message for it in reading.resolved(_object(spec))[1]]


def told(spec: str) -> list[str]:
    """What of it has no effect."""
    return [it.message for it in reading.ignored(_object(spec))]


def _object(spec: str) -> EnvoyProxy:
    found = decoded(spec)
    assert isinstance(found.object, EnvoyProxy), found.complaints
    return found.object
