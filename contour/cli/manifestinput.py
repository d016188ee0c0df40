"""Reads the manifests of commands such as `contour status` and `contour translate`, and settles
them offline."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import click

from contour import files, process
from contour.cli import extensions, output, waiting
from contour.complaints import Locate
from contour.controller import Controller
from contour.events import Batch
from contour.offline import applying, completing, rendering
from contour.status import listing
from contour.status.rows import Row
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw
from dag import ratelimitclient
from dag.nodes import Endpoint
from dag.problems import patches

NO_BACKENDS: Mapping[NamespacedName, tuple[Endpoint, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Read:
    """What the manifests lead to."""

    controller: Controller
    fleets: rendering.Fleets
    complaints: tuple[str, ...]
    """What is wrong with documents and files, a line each."""
    is_unreadable: bool
    """Whether there is a file or document that cannot be read: exit code 2."""
    locate: Locate
    original: Callable[[ObjectRef], Raw | None]
    """Returns an object as it is written in its file; None if it came from elsewhere."""


class Present(NamedTuple):
    """The objects of a cluster."""

    configuration: NamespacedName | None
    """The ContourConfiguration of the instance; None: any one is in force, as among manifests."""
    batch: Batch
    refused: frozenset[str] = frozenset()
    """The kinds of which some objects may not be read."""


@process.without_collections()
def read(
    paths: tuple[str, ...],
    controller_name: str | None = None,
    *,
    lenient: bool,
    translates: bool,
    asked: extensions.Addresses = extensions.Addresses(),  # noqa: B008 — immutable
    present: Present | None = None,
    completes: bool = False,
    backends: Mapping[NamespacedName, tuple[Endpoint, ...]] = NO_BACKENDS,
) -> Read:
    """Reads the manifests; ends the program if one of the paths cannot be read at all.

    `translates`: Envoy's configuration is made as well, which takes as long as the rest, and is
    made in any case for patches of it, for only then is known whether they can be applied;
    `present`: what is there already in a cluster, to which the manifests are applied; `completes`:
    objects that they refer to and that are missing are added; `backends`: addresses that Services
    have by the command line of a `contour run`.
    """
    manifests = files.Manifests([Path(it) for it in paths], lenient=lenient)
    try:
        with waiting.shown("reading manifests"):
            batch = manifests.read()
    except files.UnreadableInput as error:
        output.say(f"contour: {error}", err=True)
        sys.exit(2)
    if present is not None:
        batch = applying.applied(present.batch, batch, datetime.now(UTC))
    added: tuple[str, ...] = ()
    if completes:
        batch, added = completing.completed(batch, controller_name)
    fleets = rendering.Fleets()
    translates = translates or any(it.kind.kind == patches.KIND for it in batch.events)
    controller = _controller(fleets, translates=translates)
    controller.use_local_backends(backends)
    if controller_name is not None:
        controller.set_controller_name(controller_name)
    if present is not None and present.configuration is not None:
        controller.follow(present.configuration)
    with waiting.shown(f"evaluating {len(batch.events)} objects"):
        left_out = tuple(extensions.take(controller, batch, asked))
    found = [it for told in batch.complaints.values() for it in told]
    told = (f"{it.severity}: {it}" for it in found)
    lines = (*told, *left_out, *(f"added: {it}" for it in added))
    is_unreadable = any(it.is_unreadable for it in found)
    return Read(
        controller, fleets, lines, is_unreadable, manifests.locator(), manifests.originals()
    )


def require_configuration(present: Present, after: Read, before: Read | None = None) -> None:
    """Ends the program if it is not known what an instance serves: it serves nothing without its
    ContourConfiguration.

    `after` and `before`: with the manifests, and without them. The cluster need not have one that
    the manifests bring, but one that may not be read may be there.
    """
    is_refused = _CONFIGURATION in present.refused
    is_known = before is None or before.controller.is_configured or not is_refused
    if after.controller.is_configured and is_known:
        return
    why = "may not be read" if is_refused else "does not exist or is not valid"
    click.echo(
        f"contour: {_CONFIGURATION} {present.configuration}, which the instance follows, {why}, so "
        "it is not known what is served",
        err=True,
    )
    sys.exit(2)


_CONFIGURATION = "ContourConfiguration"


def _controller(fleets: rendering.Fleets, *, translates: bool) -> Controller:
    """A controller that serves no Envoy."""
    result = Controller(
        fleets.publish if translates else None,
        publish_node=fleets.publish_node,
        gives_hints=True,
    )
    result.assume_acceptance()
    result.engine.write(ratelimitclient.SOCKET, (), ratelimitclient.SOCKET_NAME)
    return result


def listed(found: Read, *, every: bool = False) -> list[Row]:
    """A row for each object and for each file with a fault."""
    controller = found.controller
    return listing.listed(controller.board, controller.engine, found.locate, every=every)


def is_empty(found: Read) -> bool:
    """Whether the manifests hold no object, not even one that cannot be read."""
    controller = found.controller
    known = listing.known(controller.board, controller.engine)
    return not found.complaints and all(it is None for it in known)
