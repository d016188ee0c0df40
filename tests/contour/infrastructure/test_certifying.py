"""Who signs the certificates of fleets while the authority of the instance is replaced."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contour.infrastructure.certifying import Authorities
from contour.infrastructure.desired import Release
from kube.client import Client
from provisioning import certificates, identities, pem, rotation, secrets
from provisioning.certificates import Authority, Subject
from provisioning.keeping.ownership import Owner
from provisioning.rotation import Holdings
from tests.cluster.double.server import Double
from tests.kube.unguarded import Unguarded

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = secrets.Names("home")
WANT = rotation.wanted(namespace=NAMES.namespace)
FLEET = Subject(identities.gateway_fleet("edge", "shop"), ("client",))


@pytest.mark.parametrize(("has_file", "signer"), [(True, "old"), (False, "new")])
async def test_an_authority_that_the_control_plane_has_not_heard_of_signs_nothing(
    tmp_path: Path, has_file: bool, signer: str
) -> None:
    """Its making broke off after the first write, and nobody has gone on with it since."""
    old = rotation.renewed(Holdings(), WANT, NOW - timedelta(days=245))
    both = rotation.renewed(old, WANT, NOW - timedelta(days=1))
    secret, *_ = secrets.documents(both, NAMES)
    bundle = tmp_path / "ca.crt"
    _write(bundle, old)
    release = Release(Owner("home", "contour"), bundle=bundle if has_file else None)
    by: dict[str, Authority] = dict(zip(("old", "new"), both.authorities, strict=True))
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.add_namespace(NAMES.namespace)
        await client.create(secrets.SECRETS.path(NAMES.namespace), secret)
        found = await Authorities(client, release).read()
        assert [it.certificate for it in found] == [it.certificate for it in both.authorities]
        leaf = rotation.joined(found, None, FLEET, NOW)
        assert leaf is not None
        assert certificates.is_issued_by(leaf.certificate, by[signer].certificate)
        _write(bundle, both)
        found = await Authorities(client, release).read()
        leaf = rotation.joined(found, leaf, FLEET, NOW)
        assert leaf is not None
        assert certificates.is_issued_by(leaf.certificate, by["new"].certificate)


async def test_where_the_control_plane_trusts_no_authority_none_signs(tmp_path: Path) -> None:
    secret, *_ = secrets.documents(rotation.renewed(Holdings(), WANT, NOW), NAMES)
    release = Release(Owner("home", "contour"), bundle=tmp_path / "missing")
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.add_namespace(NAMES.namespace)
        await client.create(secrets.SECRETS.path(NAMES.namespace), secret)
        authorities = Authorities(client, release)
        assert rotation.joined(await authorities.read(), None, FLEET, NOW) is None
        assert "that the control plane trusts" in authorities.missing().message


def _write(path: Path, held: Holdings) -> None:
    path.write_bytes(pem.bundle(held.authorities))
