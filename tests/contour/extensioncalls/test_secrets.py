"""Secrets that an extension sees, adds and changes (the hook Translation): what it is sent, what is
served, what waits for its answer, and what is never written down."""

from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2 as pb

from contour.envoy.hooks import passed, questions
from contour.hooks import wire
from contour.hooks.wire import Hook
from contour.xds import resources
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.extensioncalls import served
from tests.contour.extensioncalls.served import Shaped, extension, instance, running
from tests.contour.extensioncalls.test_translation import ALONE, configuration
from tests.testbed import certificates, world
from tests.testbed.extensionserver import Scripted, echoed, scripted
from tests.testbed.world import World

TLS = World(4, 2, certificates=2)
OURS = f"{world.namespace(0)}/cert-0"
NEW = "added"
Secrets = dict[str, pb.Secret]


def changing(change: Callable[[Secrets], None]) -> Any:
    """A script that changes all Secrets."""

    async def script(hook: Hook, body: bytes) -> bytes:
        found = wire.decoded_request(hook, body).resources
        secrets = {it.name: it for it in map(pb.Secret.FromString, found["secrets"])}
        change(secrets)
        encoded = tuple(it.SerializeToString(deterministic=True) for it in secrets.values())
        lists: wire.Resources = {"clusters": found["clusters"], "secrets": encoded}
        return wire.encoded_reply(hook, lists)

    return script


async def broken(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


THEIRS = certificates.self_signed("theirs")


def pair(name: str) -> pb.Secret:
    """A Secret with a key of the extension's own."""
    found = pb.Secret(name=name)
    found.tls_certificate.certificate_chain.inline_bytes = THEIRS.pem
    found.tls_certificate.private_key.inline_bytes = THEIRS.key_pem
    return found


def add(found: Secrets) -> None:
    found[NEW] = pair(NEW)


def staple(found: Secrets) -> None:
    for it in found.values():
        it.tls_certificate.ocsp_staple.inline_bytes = b"STAPLE"


def remove(found: Secrets) -> None:
    found.pop(OURS, None)


def secrets(of: Shaped) -> Secrets:
    """The Secrets that are served."""
    store = of.instance.server.fleet(DEFAULT_FLEET).store.types
    found = store.get(resources.SECRET, {}).values()
    return {it.name.name: pb.Secret.FromString(it.body()) for it in found}


def renewed(number: int) -> bytes:
    """The certificate after so many renewals."""
    return b64decode(TLS.secret(0, renewal=number)["data"]["tls.crt"])


def shaped(script: Any, **more: Any) -> Any:
    return served.shaped(script, documents=TLS.documents(), **(ALONE | more))


@pytest.mark.parametrize("kind", ["WithoutPrivateKeys", "Full"])
async def test_an_extension_sees_private_keys_only_if_that_is_said(
    kind: str, tmp_path: Path
) -> None:
    seen: list[pb.Secret] = []
    note = changing(lambda found: seen.extend(found.values()))
    async with scripted(note, address=f"unix:{tmp_path}/s") as server:
        entry = {"name": "a", "service": {"unix": f"{tmp_path}/s"}, "secrets": kind, **ALONE}
        made = instance(entry)
        async with running(made, server) as of:
            of.take(*TLS.documents())
            await made.asker.begin()
            found = secrets(of)
            assert {it.name for it in seen} >= found.keys() == {OURS, OURS.replace("0", "1")}
            assert all(it.tls_certificate.HasField("private_key") for it in found.values())
            last = {it.name: it for it in seen}
            has_key = {it.tls_certificate.HasField("private_key") for it in last.values()}
            assert has_key == {kind == "Full"}


async def test_secrets_are_served_as_they_were_changed_with_their_keys() -> None:
    async with shaped(echoed) as of:
        before = secrets(of)
    async with shaped(changing(staple)) as of:
        staple(before)
        assert before
        assert secrets(of) == before


async def test_an_added_secret_is_served_and_the_names_of_ours_are_not_for_sale() -> None:
    def both(found: Secrets) -> None:
        add(found)
        found["shop/other"] = pair("shop/other")

    async with shaped(changing(both)) as of:
        assert secrets(of)[NEW] == pair(NEW)
        assert "shop/other" not in secrets(of)
        assert "adds the Secret 'shop/other' whose name is one of Contour's own" in (
            configuration(of)
        )


@pytest.mark.parametrize("may", [False, True])
async def test_secrets_may_be_left_out_only_if_that_is_said(*, may: bool) -> None:
    async with shaped(echoed, mayRemoveSecrets=may) as of:
        assert OURS in secrets(of)
        (server,) = of.servers
        server.script = changing(remove)
        await server.stop()
        await server.start()
        if may:
            await of.until(lambda: OURS not in secrets(of))
        else:
            await of.until(lambda: f"leaves out the Secret '{OURS}'" in configuration(of))
            assert OURS in secrets(of)


@pytest.mark.parametrize("fail_open", [False, True])
async def test_a_renewed_secret_waits_for_the_answer_with_its_key(*, fail_open: bool) -> None:
    async with shaped(changing(staple), failOpen=fail_open) as of:
        before = secrets(of)[OURS]
        of.servers[0].script = broken
        of.take(TLS.secret(0, renewal=1))
        await of.until(lambda: "clusters and Secrets" in configuration(of))
        if fail_open:
            found = secrets(of)[OURS].tls_certificate
            assert found.certificate_chain.inline_bytes == renewed(1)
            assert not found.HasField("ocsp_staple")
        else:
            assert secrets(of)[OURS] == before
        other = secrets(of)[OURS.replace("0", "1")]
        assert other.tls_certificate.ocsp_staple.inline_bytes == b"STAPLE", "it has its answer"
        of.servers[0].script = changing(staple)
        of.take(TLS.secret(0, renewal=2))
        await of.until(
            lambda: secrets(of)[OURS].tls_certificate.certificate_chain.inline_bytes == renewed(2)
        )
        assert secrets(of)[OURS].tls_certificate.ocsp_staple.inline_bytes == b"STAPLE"


async def test_a_secret_that_was_never_answered_for_is_not_served() -> None:
    async with shaped(broken) as of:
        assert not secrets(of)


async def test_a_removed_secret_does_not_wait() -> None:
    async with shaped(echoed) as of:
        assert OURS in secrets(of)
        of.servers[0].script = broken
        of.take(gone=[TLS.secret(0)])
        assert OURS not in secrets(of)


async def test_kept_answers_have_no_private_keys_and_serve_all_that_needs_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def both(found: Secrets) -> None:
        staple(found)
        add(found)

    answers = tmp_path / "answers"
    async with shaped(changing(both), answers=answers) as of:
        (server,) = of.servers
        before = secrets(of)
        entry = extension(server, **ALONE)
        engine = of.instance.controller.engine
        tables = (questions.REPLIES, passed.SECRETS, passed.ADDED_SECRETS)
        rows = repr(
            [[[*engine.rows(it)] for it in tables], [*engine.answers(questions.translated)]]
        )
    kept = b"".join(it.read_bytes() for it in tmp_path.rglob("*") if it.is_file())
    assert b"STAPLE" in kept
    for text in (kept, rows.encode(), caplog.text.encode()):
        assert b"PRIVATE KEY" not in text
    made = instance(entry, answers=answers)
    async with running(made, Scripted()) as of:
        of.take(*TLS.documents())
        await made.asker.begin()
        await of.until(lambda: bool(secrets(of)))
        assert before.pop(NEW)
        assert secrets(of) == before


async def test_each_extension_sees_what_the_one_before_it_has_made_of_secrets() -> None:
    def look(found: Secrets) -> None:
        assert not found[NEW].tls_certificate.HasField("private_key")
        found[NEW].tls_certificate.ocsp_staple.inline_bytes = b"STAPLE"

    async with scripted(changing(add)) as first, scripted(changing(look)) as second:
        made = instance(extension(first, "a", **ALONE), extension(second, "b", **ALONE))
        async with running(made, first, second) as of:
            of.take(*TLS.documents())
            await made.asker.begin()
            expected = pair(NEW)
            expected.tls_certificate.ocsp_staple.inline_bytes = b"STAPLE"
            assert secrets(of)[NEW] == expected
