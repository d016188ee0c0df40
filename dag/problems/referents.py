"""Problems of objects that others refer to: a Service, a Secret, a bundle of authorities.

The subject is the object itself, which has no status of ours; the message is a whole sentence. A
rule that refers to the object reports it at a place of its own, with a type and reason of its kind.
"""

from collections.abc import Sequence

from crds import service
from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.reasons import ErrorType, Referent


def service_not_found(name: NamespacedName, hint: str = "") -> Problem:
    """`hint` ends the sentence: it names the Service that is probably meant (`dag.hints`)."""
    return _of_service(name, Referent.ServiceNotFound, f"Service {name} not found{hint}")


def port_not_found(
    name: NamespacedName, port: str, ports: Sequence[service.ServicePort] = ()
) -> Problem:
    """`ports` are those that the Service has."""
    shown = [f"{it.port} ({it.name})" if it.name else str(it.port) for it in ports[:_PORTS]]
    more = ", …" if len(ports) > _PORTS else ""
    has = f"; it has {', '.join(shown)}{more}" if shown else ""
    return _of_service(name, Referent.PortNotFound, f"Service {name} has no port {port}{has}")


_PORTS = 4
"""The most ports that are named in a message."""


def port_not_tcp(name: NamespacedName, port: int | str) -> Problem:
    """`port` is its number or its name."""
    text = f"port {port} of Service {name} is not a TCP port"
    return _of_service(name, Referent.PortNotTCP, text)


def service_is_closed(name: NamespacedName, annotation: str) -> Problem:
    """A Service that an annotation of another controller is to guard."""
    text = f"Service {name} is closed: annotation {annotation} guards nothing here"
    return _of_service(name, Referent.ForeignGuard, text)


def external_name_disabled(name: NamespacedName) -> Problem:
    text = (
        f"Service {name} is of type ExternalName, which is refused unless the "
        "ContourConfiguration has enableExternalNameService: true"
    )
    return _of_service(name, Referent.ExternalNameRefused, text)


def external_name_not_valid(name: NamespacedName, host: str, why: str) -> Problem:
    text = f"Service {name}: externalName {host!r} {why}"
    return _of_service(name, Referent.ExternalNameRefused, text)


def external_name_for_datagrams(name: NamespacedName) -> Problem:
    text = f"Service {name} is of type ExternalName: a UDPRoute needs one with addresses"
    return _of_service(name, Referent.ExternalNameRefused, text)


def secret_not_valid(name: NamespacedName, why: str) -> Problem:
    """A Secret that cannot be used; `why` is the end of a sentence that begins with its name."""
    return content_not_valid(ObjectRef("Secret", *name), why)


def content_not_valid(ref: ObjectRef, why: str) -> Problem:
    """An object with authorities, revocations or keys that cannot be read; `why` is the end of a
    sentence that begins with its name."""
    return Problem(ref, ErrorType.TLSError, Referent.InvalidContent, f"{ref} {why}")


def policy_not_met(key: NamespacedName) -> Problem:
    """A BackendTLSPolicy of which no authority can be read."""
    ref = ObjectRef("BackendTLSPolicy", *key)
    return Problem(
        ref,
        ErrorType.TLSError,
        Referent.InvalidContent,
        f"{ref} cannot be met; its status says why",
    )


def _of_service(name: NamespacedName, reason: Referent, text: str) -> Problem:
    return Problem(ObjectRef("Service", *name), ErrorType.ServiceError, reason, text)
