"""Reads ContourConfigurations for the operator, and writes their finalizers and statuses.

They are read for each reconciliation, as raw objects: an invalid object has a finalizer, too.
Statuses are written by server-side apply, with a field manager of our own, so that conditions of
the instance stay its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from contour_operator import desired, statuses
from contour_operator.statuses import Kind
from crds import decode, raw
from crds.complaints import Complaint
from crds.contourconfiguration import ContourConfiguration
from kube import errors
from kube.client import Client
from kube.resources import Resource
from provisioning.keeping.ownership import Owner

Raw = dict[str, Any]

RESOURCE = Resource("projectcontour.io", "v1alpha1", "contourconfigurations")
KIND = "ContourConfiguration"
FINALIZER = "operator.projectcontour.io/finalizer"


@dataclass(frozen=True, slots=True)
class Configuration:
    """A ContourConfiguration, as it is now."""

    raw: Raw

    @property
    def owner(self) -> Owner:
        """Its identity."""
        return Owner(self.metadata["namespace"], self.metadata["name"])

    @property
    def metadata(self) -> Raw:
        """Its metadata."""
        found: Raw = self.raw["metadata"]
        return found

    @property
    def generation(self) -> int:
        """The generation of its specification."""
        return int(self.metadata.get("generation") or 0)

    @property
    def status(self) -> Raw:
        """Its status, as it is stored."""
        return self.raw.get("status") or {}

    @property
    def wants_an_instance(self) -> bool:
        """Whether it has `spec.contour`, and so is the operator's to provision."""
        return raw.at(self.raw, "spec", "contour") is not None

    @property
    def is_deleting(self) -> bool:
        """Whether it has been deleted, and exists only because of its finalizers."""
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def has_finalizer(self) -> bool:
        """Whether it has our finalizer, so that something may have been made for it."""
        return FINALIZER in (self.metadata.get("finalizers") or ())

    @property
    def decoded(self) -> tuple[ContourConfiguration | None, tuple[Complaint, ...]]:
        """The decoded object, and what is wrong with it."""
        found = decode.decode(self.raw)
        if not isinstance(found, decode.Decoded):
            return None, (Complaint((), "it is no ContourConfiguration"),)
        return found.object, found.errors


async def read(client: Client, owner: Owner) -> Configuration | None:
    """The configuration of that name; None if there is none."""
    found = await client.find(_path(owner))
    return None if found is None else Configuration(found)


async def first(client: Client, namespace: str) -> Owner | None:
    """The ContourConfiguration that may have the instance of a namespace: the one that has one
    already, else the oldest."""
    found = [Configuration(_typed(it)) for it in await _all(client, namespace)]
    rivals = [
        it for it in found if it.has_finalizer or (it.wants_an_instance and not it.is_deleting)
    ]
    chosen = min(rivals, key=_precedence, default=None)
    return None if chosen is None else chosen.owner


async def _all(client: Client, namespace: str) -> list[Raw]:
    found: list[Raw] = (await client.list_page(RESOURCE.path(namespace)))["items"]
    return found


def _typed(raw: Raw) -> Raw:
    return {"apiVersion": RESOURCE.api_version, "kind": KIND, **raw}


def _precedence(it: Configuration) -> tuple[bool, str, str]:
    return not it.has_finalizer, it.metadata["creationTimestamp"], it.metadata["name"]


Tell = Callable[[Configuration, Kind, str, str], None]
"""Records an Event about a configuration: its type, its reason, and its message."""


class Writer:
    """Writes to ContourConfigurations."""

    def __init__(self, client: Client, tell: Tell) -> None:
        self._client = client
        self._tell = tell

    async def add_finalizer(self, found: Configuration) -> Configuration:
        """Adds our finalizer; to be called before anything is made."""
        return await self._finalized(found, [*_finalizers(found), FINALIZER])

    async def remove_finalizer(self, found: Configuration) -> None:
        """Removes our finalizer; to be called when nothing is left to be done."""
        rest = [it for it in _finalizers(found) if it != FINALIZER]
        try:
            await self._finalized(found, rest)
        except errors.Refused as error:
            if error.code != 404:
                raise

    async def write(self, found: Configuration, told: Raw) -> None:
        """Writes the status, unless the stored one is equal."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        stamped = statuses.stamped(told, found.status, now)
        if statuses.is_stored(stamped, found.status):
            return
        body = {
            "apiVersion": RESOURCE.api_version,
            "kind": KIND,
            "metadata": {"name": found.owner.name, "namespace": found.owner.namespace},
            "status": stamped,
        }
        path = f"{_path(found.owner)}/status"
        await self._client.apply(path, body, field_manager=desired.MAKER, force=True)
        for it in statuses.news(told, found.status):
            kind = statuses.kind_of_event(it, found.status)
            self._tell(found, kind, str(it["reason"]), str(it["message"]))

    def warn(self, found: Configuration, reason: str, message: str) -> None:
        """Records an Event about something that is in no status."""
        self._tell(found, "Warning", reason, message)

    async def _finalized(self, found: Configuration, finalizers: list[str]) -> Configuration:
        metadata = {
            "finalizers": finalizers,
            "resourceVersion": found.metadata["resourceVersion"],
        }
        path, params = _path(found.owner), {"fieldManager": desired.MAKER}
        return Configuration(await self._client.patch(path, {"metadata": metadata}, params=params))


def _finalizers(found: Configuration) -> list[str]:
    return list(found.metadata.get("finalizers") or ())


def _path(owner: Owner) -> str:
    return RESOURCE.path(owner.namespace, owner.name)
