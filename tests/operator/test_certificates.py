"""Certificates are made, renewed in time, and never somebody else's."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509

from contour_operator import desired, issuing
from kube import errors, kubeconfig
from kube.client import Client
from provisioning.keeping.ownership import Owner
from tests.operator.operators import Rig
from tests.operator.proxy import Proxy, Request

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
    assert all(desired.ownership(owner).owns(it) for it in rig.children().values())
    for name in ("contourcert", "envoycert"):
        assert after[name, "tls.crt"] != before[name, "tls.crt"]
        assert after[name, "tls.crt"].not_valid_after_utc > datetime.now(UTC) + timedelta(days=80)
        assert after[name, "ca.crt"] == before[name, "ca.crt"]
        after[name, "tls.crt"].verify_directly_issued_by(before[name, "ca.crt"])


@pytest.mark.parametrize(
    ("contour", "options", "reason"),
    [
        ({"watchNamespaces": ["a", "a"]}, (), "Invalid"),
        ({}, ("--trusted-namespaces=",), "NotTrusted"),
    ],
)
async def test_certificates_are_renewed_while_the_configuration_is_refused(
    rig: Rig, contour: dict[str, Any], options: tuple[str, ...], reason: str
) -> None:
    operator = rig.start()
    rig.configure()
    rig.until_provisioned()
    operator.stop()
    rig.operators.clear()
    owner = Owner(rig.namespace, "contour")
    for it in issuing.documents(owner):
        rig.cluster.delete(it)
    async with Client(kubeconfig.Kubeconfig(rig.access())) as client:
        await issuing.renew(client, owner, datetime.now(UTC) - timedelta(days=61))
    before = _certificates(rig)
    rig.configure(contour=contour)
    rig.start(*options)
    due = [(name, "tls.crt") for name in ("contourcert", "envoycert")]
    rig.until(lambda: all(_certificates(rig)[it] != before[it] for it in due))
    rig.until(lambda: rig.reason() == reason)
    foreign = _foreign(rig)
    rig.cluster.delete(foreign)
    rig.cluster.create(foreign)
    what = f"Secret {rig.namespace}/envoycert"
    rig.until(lambda: what in rig.condition("Provisioned")["message"])
    assert rig.reason() == reason


def test_a_certificate_of_somebody_else_is_left_alone(operated: Rig) -> None:
    foreign = _foreign(operated)
    before = operated.cluster.create(foreign)
    operated.configure()
    operated.until(lambda: operated.reason() == "NotOwned")
    assert operated.children() == {}
    assert operated.cluster.get(foreign) == before


async def test_a_secret_that_comes_in_between_is_not_written_to(rig: Rig) -> None:
    owner, foreign = Owner(rig.namespace, "contour"), _foreign(rig)
    proxy = Proxy(rig.cluster)
    with proxy.running():
        async with Client(kubeconfig.Kubeconfig(rig.access(proxy))) as client:
            await issuing.renew(client, owner, datetime.now(UTC) - timedelta(days=61))
            replaced: list[dict[str, Any]] = []

            def replace(request: Request, _: int) -> None:
                if request.path.endswith("/envoycert") and not replaced:
                    rig.cluster.delete(foreign)
                    replaced.append(rig.cluster.create(foreign))

            proxy.answered = replace
            with pytest.raises(errors.Refused):
                await issuing.renew(client, owner, datetime.now(UTC))
    assert replaced == [rig.cluster.get(foreign)]


def _foreign(rig: Rig) -> dict[str, Any]:
    metadata = {"name": "envoycert", "namespace": rig.namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def _certificates(rig: Rig) -> dict[tuple[str, str], x509.Certificate]:
    found = {name: it["data"] for (kind, _, name), it in rig.children().items() if kind == "Secret"}
    return {
        (name, key): x509.load_pem_x509_certificate(base64.b64decode(data[key]))
        for name, data in found.items()
        for key in ("ca.crt", "tls.crt")
        if key in data
    }
