"""`contour certgen`: the certificates with which the control plane and Envoy know one another.

Called again, it renews what is due and leaves the rest alone, so it can run as often as one likes.
"""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contour.cli import options
from contour.cli.names import NAMESPACE, SUFFIX
from provisioning import names

if TYPE_CHECKING:
    from kube.credentials import Access
    from provisioning import rotation, secrets

_LONGEST = names.LONGEST_LEAF_LIFETIME.days


@click.command()
@click.argument("directory", default="certs", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--kube", "to", flag_value="kube",
    help="Create or renew the certificates in Secrets of a cluster.",
)  # fmt: skip
@click.option(
    "--yaml", "to", flag_value="yaml",
    help="Print Secrets with new certificates to standard output as YAML.",
)  # fmt: skip
@click.option(
    "--pem", "to", flag_value="pem",
    help="Create or renew the certificates in PEM files in DIRECTORY.",
)  # fmt: skip
@click.option(
    "--incluster", is_flag=True,
    help="With --kube: authenticate with the service account of this pod.",
)  # fmt: skip
@click.option(
    "--kubeconfig", type=click.Path(), default="",
    show_default="$KUBECONFIG, the pod's service account, ~/.kube/config",
    help="With --kube: path of the kubeconfig file to use.",
)  # fmt: skip
@click.option(
    *("--namespace", "namespace"), type=NAMESPACE, metavar="NAMESPACE",
    envvar="CONTOUR_NAMESPACE", default=names.NAMESPACE, show_default=True,
    help="Namespace of the Secrets. It is also part of the names in the certificates.",
)  # fmt: skip
@click.option(
    "--overwrite", is_flag=True,
    help="Replace all certificates and the CA, whether due or not. Use it after a private key has "
    "leaked. All Envoys reconnect.",
)  # fmt: skip
@click.option(
    "--certificate-lifetime", type=click.IntRange(1), default=_LONGEST, show_default=True,
    metavar="DAYS", help=f"Lifetime of new certificates in days, at most {_LONGEST}.",
)  # fmt: skip
@click.option("--secrets-format", type=click.Choice(["compact"]), default="compact", hidden=True)
@click.option(
    "--secrets-name-suffix", type=SUFFIX, metavar="SUFFIX", default="", show_default="none",
    help="Suffix of the names of the Secrets. Use that of the instance (`--suffix` of `contour "
    "manifests`).",
)  # fmt: skip
@click.option(
    "--grpc-client", "grpc_clients", type=NAMESPACE, multiple=True, metavar="NAMESPACE",
    show_default="none",
    help="With --pem: also make a certificate for gRPC clients and servers of this namespace, "
    "grpc-client-NAMESPACE-cert.pem and -key.pem. Can be given several times. Those that DIRECTORY "
    "has are renewed without it.",
)  # fmt: skip
def certgen(
    directory: Path,
    to: str | None,
    incluster: bool,
    kubeconfig: str,
    namespace: str,
    overwrite: bool,
    certificate_lifetime: int,
    secrets_format: str,
    secrets_name_suffix: str,
    grpc_clients: tuple[str, ...],
) -> None:
    """Creates the TLS certificates for xDS, and renews them when they are due.

    One of --kube, --yaml and --pem is required. A certificate is due after two thirds of its
    lifetime; others stay as they are. DIRECTORY is for --pem; its default is `certs`.
    """
    import yaml

    from provisioning import rotation, secrets

    del secrets_format  # there is one; Contour's manifests name it
    want = rotation.wanted(
        service=f"contour{secrets_name_suffix}",
        fleet=f"envoy{secrets_name_suffix}",
        namespace=namespace,
        lifetime=timedelta(days=certificate_lifetime),
    )
    named = secrets.Names(namespace, secrets_name_suffix)
    if to != "pem":
        options.refuse(("directory", "grpc_clients"), "needs --pem")
    if to != "kube":
        options.refuse(("incluster", "kubeconfig"), "needs --kube")
    if incluster:
        options.refuse(("kubeconfig",), "cannot be used with --incluster")
    if to == "kube":
        _renew_secrets(incluster, kubeconfig, named, want, overwrite)
    elif to == "yaml":
        held = rotation.renewed(rotation.Holdings(), want, datetime.now(UTC))
        click.echo(yaml.safe_dump_all(secrets.documents(held, named), sort_keys=False), nl=False)
    elif to == "pem":
        _renew_files(directory, want, grpc_clients, overwrite)
    else:
        raise click.UsageError("name an output: --kube, --yaml or --pem")


def _renew_secrets(
    incluster: bool, kubeconfig: str, named: "secrets.Names", want: "rotation.Wanted", anew: bool
) -> None:
    import asyncio

    from kube import access, errors, pod
    from kube.credentials import AccessError

    try:
        found: Access = pod.Pod(os.environ) if incluster else access.found(kubeconfig)
        written = asyncio.run(_renewed_secrets(found, named, want, anew))
    except AccessError as error:
        raise click.UsageError(str(error)) from error
    except errors.RequestError as error:
        click.echo(f"contour: cannot renew all Secrets: {error}", err=True)
        sys.exit(1)
    for name in written:
        click.echo(f"wrote Secret {named.namespace}/{name}")


async def _renewed_secrets(
    found: "Access", named: "secrets.Names", want: "rotation.Wanted", anew: bool
) -> tuple[str, ...]:
    from kube.client import Client
    from provisioning import secrets

    async with Client(found, user_agent="contour-certgen") as client:
        return await secrets.renew(client, named, want, datetime.now(UTC), anew)


def _renew_files(
    directory: Path, usual: "rotation.Wanted", grpc_clients: tuple[str, ...], anew: bool
) -> None:
    from provisioning import folders, pemfiles, rotation

    applications = (*grpc_clients, *pemfiles.grpc_clients(directory))
    want = rotation.with_grpc_clients(usual, applications)
    before = rotation.Holdings() if anew else pemfiles.holdings(directory, want.subjects)
    after = rotation.renewed(before, want, datetime.now(UTC))
    if after == before:
        return
    try:
        folders.write(directory, pemfiles.contents(after))
    except OSError as error:
        raise click.UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    click.echo(f"wrote {directory}")
