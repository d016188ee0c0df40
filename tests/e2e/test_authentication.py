"""AuthenticationFilters with `contour run`: a real Envoy, and a server of keys over TLS."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.e2e import incluster
from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.features import keys
from tests.testbed import certificates, keyserver, pairs, tokens
from tests.testbed.keyserver import KeyServer
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

ISSUER, OTHER = "https://issuer.example.com", "other@example.com"


@pytest.fixture(scope="module")
def server() -> Iterator[KeyServer]:
    address = incluster.own_address()
    shown = certificates.issued(certificates.known_authority(), address)
    answers = {"/one": tokens.jwks().encode(), "/two": keys.other_jwks().encode()}
    with keyserver.in_thread(answers, shown, address) as found:
        yield found


INSIDE = certificates.authority("inside")
"""Nobody but the filter that names it trusts it."""


@pytest.fixture(scope="module")
def inside() -> Iterator[KeyServer]:
    address = incluster.own_address()
    answers = {"/one": tokens.jwks().encode()}
    with keyserver.in_thread(answers, certificates.issued(INSIDE, address), address) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(
    server: KeyServer, inside: KeyServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Standalone]:
    folder = tmp_path_factory.mktemp("authentication")
    authority = certificates.known_authority()
    trusted = folder / "authorities.pem"
    trusted.write_bytes(authority.pem)
    text = manifest("authentication.yaml").replace("$address", incluster.own_address())
    shown = certificates.issued(authority, "*.example.com")
    files = {
        "services.yaml": manifest("services.yaml"),
        "authentication.yaml": text,
        "secret.yaml": pairs.of("certificate", shown),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(trusted))
        with standalone(folder, files, {"keys": server.port, "inside": inside.port}) as running:
            running.authority = authority
            yield running


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def unsigned() -> str:
    parts = ({"alg": "none"}, {"iss": ISSUER, "aud": "shop", "exp": int(time.time()) + 60})
    return ".".join(tokens.encoded(json.dumps(it).encode()) for it in parts) + "."


GOOD = {"iss": ISSUER, "aud": "shop"}
URLS = [
    "http://shop.example.com/staff",
    "https://shop.example.com/staff",
    "http://shop.isolated.example.com/staff",
]


@pytest.mark.parametrize("url", URLS)
def test_a_token_of_any_provider_will_do_on_every_listener(guarded: Standalone, url: str) -> None:
    forged = {"x-subject": "forged"}
    one = Case(url, backend="two", headers={**bearer(tokens.token(**GOOD, sub="me")), **forged})
    assert guarded.ask(url, headers=one.headers).seen["headers"]["x-subject"] == "me"
    check(guarded, one)
    check(guarded, Case(url, backend="two", headers=bearer(keys.of_other(OTHER))))
    check(guarded, Case(url.removesuffix("/staff"), backend="one"))


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(
    ("token", "status"),
    [
        ("", 401),
        ("x.y.z", 401),
        (tokens.token(**GOOD, exp=1), 401),
        (tokens.token(iss="https://else.example.com", aud="shop"), 401),
        (tokens.token(iss=ISSUER, aud="else"), 403),
        (tokens.token(iss=OTHER), 401),
        (tokens.token(**GOOD)[:-9] + "forgeries", 401),
        (unsigned(), 401),
    ],
    ids=["none", "garbage", "expired", "issuer", "audience", "key", "signature", "unsigned"],
)
def test_other_tokens_will_not(guarded: Standalone, url: str, token: str, status: int) -> None:
    headers = bearer(token) if token else {}
    assert guarded.ask(url, headers=headers).status == status


def test_a_token_of_a_megabyte_harms_nobody(guarded: Standalone) -> None:
    url = "http://shop.example.com/staff"
    assert guarded.ask(url, headers=bearer("x" * 1_000_000)).status in {401, 431}
    check(guarded, Case(url, backend="two", headers=bearer(tokens.token(**GOOD))))


def test_redirects_are_guarded_and_what_is_missing_is_closed(guarded: Standalone) -> None:
    check(guarded, Case("http://shop.example.com/moved", 401))
    check(guarded, Case("http://shop.example.com/moved", 301, headers=bearer(tokens.token(**GOOD))))
    check(guarded, Case("http://shop.example.com/nowhere", 500))
    assert "AuthenticationFilter default/gone not found" in guarded.reasons(
        "HTTPRoute default/staff"
    )


def test_each_api_asks_for_its_own_tokens_on_one_host(guarded: Standalone) -> None:
    own, staff = bearer(tokens.token(iss="own")), bearer(tokens.token(**GOOD))
    check(guarded, Case("http://both.example.com/", backend="one", headers=own))
    check(guarded, Case("http://both.example.com/", 401, headers=staff))
    check(guarded, Case("http://both.example.com/staff", backend="two", headers=staff))
    check(guarded, Case("http://both.example.com/staff", 401, headers=own))


def test_equal_key_sets_are_fetched_once_and_a_late_one_opens_its_routes(
    guarded: Standalone, server: KeyServer
) -> None:
    assert server.asked["/two"] == 1
    url = "http://late.example.com/"
    check(guarded, Case(url, 500, headers=bearer(tokens.token())))
    guarded.until_told("HTTPRoute default/late", "answers 404")
    server.answers["/late"] = tokens.jwks().encode()
    guarded.until_status(url, 401)
    check(guarded, Case(url, backend="one", headers=bearer(tokens.token())))
    wait(lambda: not guarded.reasons("HTTPRoute default/late"), "nothing told of the late route")


def key_set(text: str) -> str:
    return (
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: keys}, "
        f"data: {{jwks: {json.dumps(text)}}}}}"
    )


def test_keys_in_a_config_map_are_live(guarded: Standalone) -> None:
    url, one, two = "http://local.example.com/", bearer(tokens.token()), bearer(keys.of_other("x"))
    check(guarded, Case(url, 500, headers=one))
    guarded.until_told("HTTPRoute default/local", "ConfigMap default/keys not found")
    guarded.write("keys.yaml", key_set(tokens.jwks()))
    guarded.until_status(url, 401)
    check(guarded, Case(url, backend="one", headers=one))
    check(guarded, Case(url, 401, headers=two))
    guarded.write("keys.yaml", key_set(keys.other_jwks()))
    wait(lambda: guarded.ask(url, headers=two).status == 200, "the new keys")
    check(guarded, Case(url, 401, headers=one))
    guarded.write("keys.yaml", key_set("hello"))
    guarded.until_status(url, 500)
    guarded.until_told("HTTPRoute default/local", "ConfigMap default/keys is not JSON")


def test_a_server_with_authorities_of_its_own_is_asked_once_they_are_there(
    guarded: Standalone,
) -> None:
    url, good = "http://inside.example.com/", bearer(tokens.token())
    check(guarded, Case(url, 500, headers=good))
    guarded.until_told("HTTPRoute default/inside", "Secret default/inside not found")
    guarded.write("inside.yaml", pairs.authority("inside", made=certificates.authority("inside")))
    guarded.until_told("HTTPRoute default/inside", "has a certificate that is not valid")
    guarded.write("inside.yaml", pairs.authority("inside", made=INSIDE))
    guarded.until_status(url, 401)
    check(guarded, Case(url, backend="one", headers=good))
