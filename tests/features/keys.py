"""Signing keys, the pages where they are fetched, and tokens that they sign (RS256 and ES256)."""

import asyncio
import json
import time
from functools import cache
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tests.testbed import tokens as signed


def jwks() -> str:
    """Both public keys, as a set."""
    found = json.loads(signed.jwks())
    public = _curve().public_key().public_numbers()
    found["keys"].append(
        {
            "kty": "EC",
            "crv": "P-256",
            "alg": "ES256",
            "kid": "two",
            "x": signed.encoded(public.x.to_bytes(32, "big")),
            "y": signed.encoded(public.y.to_bytes(32, "big")),
        }
    )
    return json.dumps(found)


def other_jwks() -> str:
    """A set of the second key alone."""
    return json.dumps({"keys": json.loads(jwks())["keys"][1:]})


@cache
def _curve() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def tokens() -> dict[str, str]:
    """By the names that rows use."""
    return {
        "token": signed.token(sub="me", aud="shop", groups={"first": "blue"}),
        "token_of_admin": signed.token(
            scope="read add", user={"name": "John Doe", "roles": ["admin"]}
        ),
        "token_of_curve": _signed(iss="issuer", sub="me", aud="shop", exp=int(time.time()) + 3600),
        "token_of_other": signed.token(iss="other", aud="shop"),
        "token_for_other": signed.token(aud="elsewhere"),
        "token_expired": signed.token(exp=int(time.time()) - 3600),
    }


def of_other(issuer: str) -> str:
    """A token of this issuer that the second key signs."""
    return _signed(iss=issuer, exp=int(time.time()) + 3600)


def _signed(**claims: Any) -> str:
    head = {"alg": "ES256", "kid": "two", "typ": "JWT"}
    text = (
        f"{signed.encoded(json.dumps(head).encode())}.{signed.encoded(json.dumps(claims).encode())}"
    )
    r, s = decode_dss_signature(_curve().sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{signed.encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def pages() -> web.Application:
    """The sets, after the seconds that the query says; where it says `turns`, the one of the second
    key until a POST turns the page."""
    turned: set[str] = set()

    async def answer(request: web.Request) -> web.Response:
        await asyncio.sleep(float(request.query.get("wait", "0")))
        if request.method == "POST":
            turned.add(request.path_qs)
        is_other = "turns" in request.query and request.path_qs not in turned
        return web.json_response(json.loads(other_jwks() if is_other else jwks()))

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    return application
