"""`contour convert`: manifests and settings of other controllers as manifests of ours."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from contour.cli import options, output

if TYPE_CHECKING:
    from contour.conversion.ingressnginx.given import Partial
    from contour.conversion.told import Converted
    from contour.events import Batch
    from contour.files import Manifests


_OF_INGRESS_NGINX = ("without", "from_class", "ingress_class")


@click.command()
@click.option(
    "--from", "source", required=True, type=click.Choice(["contour", "ingress-nginx"]),
    help="The controller that the manifests or settings are for.",
)  # fmt: skip
@options.manifests("nothing")
@click.option(
    "--without", multiple=True, metavar="ANNOTATION", show_default="nothing",
    help="Leave out this annotation of ingress-nginx, such as limit-rps, although it guards "
    "something. Otherwise an Ingress with a guard that cannot be converted is left out. Can be "
    "given several times.",
)  # fmt: skip
@click.option(
    "--from-class", default="nginx", show_default=True, metavar="CLASS",
    help="Convert the Ingresses of this class, and those without one.",
)  # fmt: skip
@click.option(
    "--ingress-class", default="", show_default="none", metavar="CLASS",
    help="The `spec.ingressClassName` of the HTTPProxies.",
)  # fmt: skip
@click.option(
    "-o", "--output", "format_", type=click.Choice(["yaml", "json"]), default="yaml",
    show_default=True,
    help="Output format: YAML documents, or JSON with all of them in one list.",
)  # fmt: skip
def convert(
    source: str,
    paths: tuple[str, ...],
    more: tuple[str, ...],
    without: tuple[str, ...],
    from_class: str,
    ingress_class: str,
    format_: Literal["json", "yaml"],
) -> None:
    """Converts manifests of ingress-nginx, or the settings of upstream Contour.

    Ingresses with annotations of ingress-nginx become HTTPProxies; a configuration file of upstream
    Contour, its ConfigMap, or a ContourDeployment becomes a ContourConfiguration. Nothing is
    applied. What is not, or not exactly, converted is reported on standard error. Exit code 1 means
    that something was left out, which then answers 503 if its host is converted; 2 means that a
    path, a file or a document cannot be read.
    """
    named = paths + more
    if not named:
        raise click.UsageError("name the manifests to convert (PATH, or - for standard input)")
    if source == "contour":
        options.refuse(_OF_INGRESS_NGINX, "is for --from ingress-nginx")
        found = _from_contour(named)
    else:
        found = _from_ingress_nginx(named, frozenset(without), from_class, ingress_class)
    output.stream(list(found.documents), format_)
    for it in found.told:
        output.say(str(it), err=True)
    if not found.documents and not found.told and not found.is_incomplete:
        click.echo(f"warning: nothing of {source} was found", err=True)
    if found.is_unreadable:
        sys.exit(2)
    if found.is_incomplete or any(it.is_left_out for it in found.told):
        sys.exit(1)


def _from_contour(paths: tuple[str, ...]) -> "Converted":
    from contour.conversion import contourfile

    return contourfile.converted(_texts(paths))


def _texts(paths: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """The content of each file."""
    from contour.files import reading

    for path in paths:
        try:
            if path == "-":
                yield path, reading.stream(reading.STDIN)
            else:
                yield path, Path(path).read_bytes()
        except OSError as error:
            click.echo(f"contour: {path}: {error.strerror}", err=True)
            sys.exit(2)


def _from_ingress_nginx(
    paths: tuple[str, ...], without: frozenset[str], from_class: str, ingress_class: str
) -> "Converted":
    from contour import files
    from contour.conversion.ingressnginx import given, hosts

    manifests = files.Manifests([Path(it) for it in paths], lenient=True)
    try:
        batch = manifests.read()
    except files.UnreadableInput as error:
        click.echo(f"contour: {error}", err=True)
        sys.exit(2)
    found = [it for told in batch.complaints.values() for it in told]
    for it in found:
        output.say(f"{it.severity}: {it}", err=True)
    if any(it.is_unreadable for it in found):
        sys.exit(2)
    ingresses = given.read(batch, from_class, without, _broken(batch, manifests))
    result = hosts.converted(ingresses, ingress_class)
    result.is_incomplete = any(it.severity == "error" for it in found)
    return result


def _broken(batch: "Batch", manifests: "Manifests") -> Iterator["Partial"]:
    """What can be read of the Ingresses with errors. If their hosts cannot be read, nothing is
    converted: paths that they guard might be open."""
    from contour.conversion.ingressnginx import given
    from crds.meta import ObjectRef

    original = manifests.originals()
    good = {(it.kind.kind, it.key) for it in batch.events if it.object is not None}
    for subject in batch.complaints:
        if not isinstance(subject, ObjectRef) or subject.kind != "Ingress":
            continue
        if (subject.kind, subject.key) in good:
            continue
        raw = original(subject)
        found = given.partial(raw) if raw is not None else None
        if found is None:
            text = "has errors, and its hosts cannot be read from here, so nothing is converted"
            click.echo(f"error: {subject}: {text}", err=True)
            sys.exit(1)
        yield found
