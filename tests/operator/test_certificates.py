"""Certificates are made, renewed in time, and never somebody else's."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509

from contour_operator import desired, issuing
from kube import kubeconfig
from kube.client import Client
from provisioning.ownership import Owner
from tests.operator.operators import Rig

pytestmark = pytest.mark.cluster


async def test_certificates_that_grow_old_are_renewed_and_their_authority_is_kept(
    rig: Rig,
) -> None:
    owner = Owner(rig.namespace, "contour")
    async with Client(kubeconfig.Kubeconfig(rig.access())) as client:
        past = datetime.now(UTC) - timedelta(days=61)  # of 90, two thirds are over
        made = await issuing.renew(client, owner, past)
        assert sorted(made) == ["contour-authority", "contourcert", "envoycert"]
        assert await issuing.renew(client, owner, past + timedelta(days=1)) == ()
    before = _certificates(rig)
    rig.start()
    rig.configure()
    rig.until_provisioned()
    after = _certificates(rig)
    assert all(desired.mark(owner).is_on(it) for it in rig.children().values())
    for name in ("contourcert", "envoycert"):
        assert after[name, "tls.crt"] != before[name, "tls.crt"]
        assert after[name, "tls.crt"].not_valid_after_utc > datetime.now(UTC) + timedelta(days=80)
        assert after[name, "ca.crt"] == before[name, "ca.crt"]
        after[name, "tls.crt"].verify_directly_issued_by(before[name, "ca.crt"])


def test_a_certificate_of_somebody_else_is_left_alone(operated: Rig) -> None:
    foreign: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "envoycert", "namespace": operated.namespace},
    }
    before = operated.cluster.create(foreign)
    operated.configure()
    operated.until(lambda: operated.reason() == "NotOurs")
    assert operated.children() == {}
    assert operated.cluster.get(foreign) == before


def _certificates(rig: Rig) -> dict[tuple[str, str], x509.Certificate]:
    found = {name: it["data"] for (kind, _, name), it in rig.children().items() if kind == "Secret"}
    return {
        (name, key): x509.load_pem_x509_certificate(base64.b64decode(data[key]))
        for name, data in found.items()
        for key in ("ca.crt", "tls.crt")
        if key in data
    }
