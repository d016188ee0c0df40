"""What is planted does not come out; what a bug report needs does."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from contour.collecting import redaction
from crds import raw, schema

PLANTED = "pl4nt3d-S3cret"
KEY = f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----\n"
TOKEN = f"eyJhbGciOiJub25lIn0.{PLANTED}.c2ln"

CERTIFICATE = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB\n").decode()


def thing(kind: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "shown"}, **content}


APPLIED = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":{{"x":"{PLANTED}"}}}}'}
OBJECTS = {
    "secret": thing("Secret", data={"tls.key": PLANTED}, stringData={"x": PLANTED}),
    "config map": thing("ConfigMap", data={"ca.crt": PLANTED}),
    "applied": thing("HTTPProxy", metadata={"name": "shown", "annotations": APPLIED}),
    "managed": thing("HTTPProxy", metadata={"name": "shown", "managedFields": [{"x": PLANTED}]}),
    "annotation": thing(
        "HTTPProxy", metadata={"name": "shown", "annotations": {"a/auth": f"Basic {PLANTED}"}}
    ),
    "environment": thing("Pod", spec={"containers": [{"env": [{"name": "A", "value": PLANTED}]}]}),
    "argument": thing("Pod", spec={"containers": [{"args": [f"--api-key={PLANTED}"]}]}),
    "header": thing(
        "HTTPProxy", spec={"requestHeadersPolicy": {"set": [{"name": "X-Token", "value": PLANTED}]}}
    ),
    "condition": thing(
        "HTTPProxy", spec={"conditions": [{"header": {"name": "Authorization", "exact": PLANTED}}]}
    ),
    "bearer": thing("HTTPRoute", spec={"any": f"Bearer {PLANTED}"}),
    "token": thing("HTTPRoute", spec={"any": TOKEN}),
    "address": thing("HTTPRoute", spec={"uri": f"https://user:{PLANTED}@example.com"}),
    "key in text": thing("EnvoyProxy", spec={"any": KEY}),
    "key in configuration": thing(
        "EnvoyConfig",
        spec={"resources": [{"value": yaml.safe_dump({"private_key": {"inline_string": KEY}})}]},
    ),
    "bytes in configuration": thing(
        "EnvoyConfig", spec={"value": json.dumps({"secret": {"inline_bytes": PLANTED}})}
    ),
    "broken configuration": thing("EnvoyConfig", spec={"v": f"{{\npassword: {PLANTED}"}),
    "web key": thing(
        "HTTPProxy", spec={"inline": json.dumps({"keys": [{"kty": "oct", "k": PLANTED}]})}
    ),
}  # fmt: skip


@pytest.mark.parametrize("found", OBJECTS.values(), ids=OBJECTS)
def test_what_is_planted_in_an_object_stays_here(found: dict[str, Any]) -> None:
    assert PLANTED in json.dumps(found)
    shown = redaction.thing(found)
    assert PLANTED not in json.dumps(shown)
    assert raw.at(shown, "metadata", "name") == "shown"
    assert redaction.value(shown) == shown


@pytest.mark.parametrize(
    "line",
    [
        f"GET /login?token={PLANTED} 200",
        f"GET /login?next={PLANTED} 200",
        f"authorization: Bearer {PLANTED}",
        f'{{"password": "{PLANTED} with blanks"}}',
        f"client_secret={PLANTED}",
        f"read {TOKEN}",
        KEY,
        *(
            line % f"/a?x={mark}&ssn={PLANTED}"
            for mark in ("'", '"', '",', "'}", "?", r"\\")
            for line in ('"GET %s HTTP/1.1" 200', "at 'https://h%s', as asked", "'%s'")
        ),
        *(
            f'{before}{{"path":"/a?x={mark}&ssn={PLANTED}","status":200}}'
            for mark in ("'", r"\"", r"\",", r"\\")
            for before in ("", "2026-11-27T12:00:00.000000001Z ")
        ),
    ],
)
def test_what_is_planted_in_a_log_stays_here(line: str) -> None:
    assert PLANTED not in redaction.log(line)


@pytest.mark.parametrize(
    "found",
    [
        {"spec": {"virtualhost": {"fqdn": "a.example.com", "tls": {"secretName": "team/tls"}}}},
        {"spec": {"certificateRefs": [{"kind": "Secret", "name": "tls"}]}},
        {"env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
        {"header": {"name": "x-user", "exact": "7"}, "automountServiceAccountToken": True},
        {"message": "spec.virtualhost.tls.secretName: Secret a/tls not found"},
        {"message": "spec.oidc.clientSecret: Secret a/x not found"},
        {"message": "spec.virtualhost.authorization: the ExtensionService a/b is missing"},
        {"message": 'spec.timeout: Invalid value: "5 s": must be a duration'},
        {"metadata": {"name": "token", "namespace": "a", "labels": {"app": "b"}}},
        {"name": "envoy.filters.http.credential_injector", "typed_config": {"overwrite": "x"}},
        {"name": "token", "image": "a/token:1", "args": ["--port", "80", "--token-file", "/t"]},
        {"token_bucket": {"max_tokens": 7, "tokens_per_fill": 7, "fill_interval": "1s"}},
        {"uid": "0a1B2c3d-4e5f-6789-abcd-ef0123456789", "image": f"a@sha256:{'0a' * 32}"},
        {"value": "0a" * 32, "reason": "MaxRequestBytesNotPermitted", "ca": CERTIFICATE},
        {"op": "add", "path": "/transport_socket/secret_config/name", "value": "shown"},
        {"allowHeaders": ["Authorization", "X-Api-Key", "Accept"]},
        {"service": {"name": "auth"}, "header": {"name": "x-auth-user", "exact": "7"}},
        {"regex": "^/a?b(/[^?]*)?$", "path": "/a/b"},
    ],
)
def test_what_a_report_needs_is_shown(found: dict[str, Any]) -> None:
    assert redaction.value(found) == found


SNIPPET = f"""proxy_set_header X-Api-Key "{PLANTED}";
proxy_set_header Authorization "ApiKey {PLANTED}";
"""
ROWS: dict[str, tuple[object, list[str]]] = {
    "patch": (
        {"op": "add", "path": "/keys/0/inline_string", "value": f'"{PLANTED}"'},
        ["add", "/keys/0/inline_string"],
    ),
    "patch with an expression": (
        {"op": "add", "jsonPath": "$..[?(@.name=='x-api-key')]", "path": "exact", "value": PLANTED},
        ["x-api-key"],
    ),
    "patch of a header": (
        {"op": "replace", "path": "/request_headers_to_add/0/header/value", "value": PLANTED},
        ["request_headers_to_add"],
    ),
    "patch with a header": (
        {"op": "add", "path": "/x/-", "value": {"header": {"key": "x-api-key", "value": PLANTED}}},
        ["x-api-key"],
    ),
    "snippet": (
        {"annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": SNIPPET, "a": "b"}},
        ["configuration-snippet", "b"],
    ),
    "configuration of another proxy": (f"http-request set-header Authorization {PLANTED}", []),
    "base64": (
        base64.b64encode(json.dumps({"name": "c", "client_secret": PLANTED}).encode()).decode(),
        ["client_secret", "c"],
    ),
    "base64 that is no configuration": (base64.b64encode(PLANTED.encode()).decode(), []),
    "base64 that is no text": (base64.b64encode(b"\xff\xfe" + PLANTED.encode()).decode(), []),
    "argument": (["--debug", "--token", PLANTED, "--port", "80"], ["--debug", "--port", "80"]),
    "argument with blanks": ([f"--password=x {PLANTED}"], ["--password="]),
    "argument in a text": (f"curl --token {PLANTED} https://h/", ["https://h/"]),
    "no user": (f"redis://:{PLANTED}/x@h:1/0", ["redis://", "@h:1/0"]),
    "user only": (f"https://{PLANTED}@h/jwks", ["@h/jwks"]),
    "query": ({"uri": f"https://h/jwks?key={PLANTED}"}, ["https://h/jwks"]),
    "query of a path": ({"path": f"/callback?code={PLANTED}"}, ["/callback"]),
    "nested matcher": (
        {"name": "authorization", "string_match": {"exact": PLANTED}, "invert_match": True},
        ["authorization", "string_match", "true"],
    ),
    "suffix": ({"name": "token", "type": "Suffix", "suffix": PLANTED}, ["Suffix"]),
    "raw value": ({"key": "authorization", "raw_value": PLANTED}, ["authorization"]),
    "unknown field": ({"name": "authorization", "text": [PLANTED]}, ["authorization"]),
    "number": ({"password": "7", "other": f"password={PLANTED}"}, []),
    "several documents": (f"a: 1\n---\npassword: |\n  {PLANTED}\n", ["a"]),
    "block that cannot be read": (f"{{{{\npassword: |\n  x\n  {PLANTED}\nb: 1", ["b: 1"]),
    "Secret in a text": (json.dumps(thing("Secret", data={"x": PLANTED})), ["shown"]),
    "environment by name": ({"env": {"MY_PATH": PLANTED}}, ["MY_PATH"]),
    "what an Event quotes": (
        {"message": f'spec.h[0].value: Invalid value: "{PLANTED} x": must be short'},
        ["spec.h[0].value: Invalid value:", "must be short"],
    ),
    "what Envoy quotes": (
        {"words": f'failed: header {{ key: "authorization" value: "{PLANTED} x" }} is bad'},
        ["failed: header", "authorization", "is bad"],
    ),
    "what an API server quotes": (
        {"message": f'Invalid value: {{"name":"authorization","value":"{PLANTED}"}}: bad'},
        ["Invalid value", "authorization", "bad"],
    ),
    "headers in an annotation": (
        {"annotations": {"haproxy.org/request-set-header": f"X-Api-Key {PLANTED}"}},
        ["request-set-header"],
    ),
    "X-Auth": (
        {"set": [{"name": "X-Auth", "value": PLANTED}], "message": f"sends x-auth: {PLANTED}"},
        ["X-Auth", "sends x-auth"],
    ),
    "a text in a text": ({"message": f'says "x=token={PLANTED}"'}, ["says"]),
    "JSON in JSON in a text": (json.dumps(json.dumps({"token": f"x {PLANTED}"})), ["token"]),
}  # fmt: skip


@pytest.mark.parametrize(("found", "kept"), ROWS.values(), ids=ROWS)
def test_a_secret_goes_and_what_is_around_it_stays(found: object, kept: list[str]) -> None:
    shown = redaction.value(found)
    text = json.dumps(shown)
    assert PLANTED not in text
    assert base64.b64encode(PLANTED.encode()).decode() not in text
    assert not [it for it in kept if it not in text]
    assert redaction.value(shown) == shown


@pytest.mark.parametrize(
    "line",
    [
        f"Cookie: a=b; session={PLANTED}",
        f"authorization: ApiKey {PLANTED}",
        f"authorization: Digest {PLANTED}",
        f'Authorization: Digest username="x", response="{PLANTED}"',
        f'"password":"ab\\"{PLANTED}"',
        f"token == '{PLANTED} x'",
        f'x: token="a {PLANTED}"',
        f'{{"name":"x","headers":"{{\\"cookie\\":\\"a; {PLANTED}\\"}}"}}',
        *(
            f'{before}"path":"/a?x=1","{name}":"{value}{PLANTED}","host":"h"}}'
            for before in ("", "2026 INFO x: got {", '2026-11-27T12:00:00Z stdout F {"a":1,')
            for name, value in (
                ("authorization", "Bearer "),
                ("authorization", "ApiKey "),
                ("api_key", "a "),
                ("x", "Basic "),
                ('name":"x-token","value', "a "),
            )
        ),
        f'{{"message":"got {{\\"path\\":\\"/a?x=1\\",\\"token\\":\\"a {PLANTED}\\"}}"}}',
        f'/a?token="abc {PLANTED}" x',
        f"did you set?password: {PLANTED}",
        f'client_secret="ab?c\\" {PLANTED}" next',
        f'password="a ?token="b {PLANTED}"',
        f'"/a?x=1","k":"-----BEGIN PRIVATE KEY-----\\n{PLANTED}\\n-----END PRIVATE KEY-----"',
        f"/a?x=-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----",
        f"/a?x='&token='\npassword: 'a {PLANTED}'",
        f"password='a?token=' x\npassword: 'a {PLANTED}'",
        '/a?q={"name":"bob","ssn":"' + PLANTED + '"}',
    ],
)
def test_the_whole_value_in_a_log_goes(line: str) -> None:
    shown = redaction.log(f"before\n{line}\nafter")
    assert PLANTED not in shown
    assert shown.startswith("before\n")
    assert shown.endswith("\nafter")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('"GET /a?x="&y=1 HTTP/1.1" 200', '"GET /a?[redacted] HTTP/1.1" 200'),
        ("at '/a?x=1', as asked", "at '/a?[redacted]', as asked"),
        ("{'path': '/a?x=1'} is left", "{'path': '/a?[redacted]'} is left"),
        (r'{"path":"/a?x=\"","status":200}', '{"path":"/a?[redacted]","status":200}'),
        ('{"path":"/a?x=1","status":', '{"path":"/a?[redacted]'),
        ('"GET /a?token=1 HTTP/1.1" 200', '"GET /a?[redacted] HTTP/1.1" 200'),
        ('password="a?b c" rest', "password=[redacted] rest"),
        ('{"path":"/a?token=x","b":"c d"}', '{"path":"/a?[redacted]","b":"c d"}'),
    ],
)
def test_what_is_around_a_query_in_a_log_stays(line: str, shown: str) -> None:
    assert redaction.log(line) == shown
    assert redaction.log(shown) == shown


@pytest.mark.parametrize(
    "hostile",
    [
        "token_",
        "a",
        "://:",
        "spec.",
        '\\"',
        "set-header token",
        "x?a=",
        "token: |\n ",
        '?"',
        '?",',
        '{"a":',
        "?\\",
        "?token ",
        "?token=' ",
        "'?token=\"a b ",
    ],
)
def test_a_long_log_is_read_in_a_moment(hostile: str) -> None:
    before = time.process_time()
    redaction.log(hostile * (100_000 // len(hostile)))
    assert time.process_time() - before < 5


RICH = yaml.safe_load(
    """
metadata:
  name: shown
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: MARK
    kopf.zalando.org/last-handled-configuration: MARK
    nginx.ingress.kubernetes.io/server-snippet: MARK
    example.com/auth-token: MARK
spec:
  volumes: [{name: token, secret: {secretName: shown, items: [{key: MARK, path: shown}]}}]
  containers:
  - name: shown
    image: shown
    args: [--shown, --client-secret, MARK, --api-key=MARK, --url, 'https://u:QUOTED@shown/']
    command: [run, -token, MARK]
    env: [{name: shown, value: MARK}]
    livenessProbe: {httpGet: {path: shown, httpHeaders: [{name: Authorization, value: MARK}]}}
  routes:
  - conditions:
    - header: {name: x-auth-token, contains: MARK, exact: MARK, regex: MARK, suffix: MARK}
    - queryParameter: {name: token, exact: MARK, prefix: MARK}
    requestHeadersPolicy: {set: [{name: Cookie, value: MARK}]}
    remoteJWKS: {uri: 'https://shown/jwks?key=QUOTED'}
  jsonPatches:
  - {op: add, path: /shown/inline_string, value: MARK}
  - {op: add, path: /shown/private_key, value: {inline_bytes: MARK}}
  - operation: {op: replace, jsonPath: $.shown.client_secret, value: [MARK, {x: MARK}]}
  resources:
  - typed_config:
      '@type': shown
      hmac_secret: {inline_string: MARK}
      token_bucket: {max_tokens: 7, fill_interval: shown}
      headers:
      - {name: authorization, string_match: {safe_regex: {regex: MARK}}}
      - {header: {key: x-api-key, raw_value: MARK}}
      jwks: {keys: [{kty: oct, k: MARK}]}
status:
  conditions:
  - type: shown
    message: 'spec.shown.password: Invalid value: "MARK": shown'
"""
)
WRITTEN: dict[str, Callable[[object], object]] = {
    "as it is": lambda it: it,
    "in a list": lambda it: {"kind": "List", "items": [it]},
    "as YAML": lambda it: {"value": yaml.safe_dump(it)},
    "as JSON": lambda it: {"value": json.dumps(it)},
    "as JSON in YAML": lambda it: {"value": yaml.safe_dump({"value": json.dumps(it)})},
    "as base64": lambda it: {"value": base64.b64encode(json.dumps(it).encode()).decode()},
    "as a patch": lambda it: {"op": "add", "path": "/x", "value": it},
}
MARKS = ("pl4nt3d", "two pl4nt3d words", "a;pl4nt3d,b", "x:pl4nt3d", "x=pl4nt3d", "-pl4nt3d")


def marked(found: object, mark: str) -> object:
    if raw.is_mapping(found):
        return {name: marked(it, mark) for name, it in found.items()}
    if raw.is_list(found):
        return [marked(it, mark) for it in found]
    if not isinstance(found, str):
        return found
    return found.replace("MARK", mark).replace("QUOTED", quote(mark))


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_no_place_of_a_rich_object_lets_a_secret_out(
    written: Callable[[object], object], mark: str
) -> None:
    found = written(marked(RICH, mark))
    assert raw.is_mapping(found)
    shown = json.dumps(redaction.thing(found))
    assert "pl4nt3d" not in shown
    assert shown.count("shown") == json.dumps(RICH).count("shown")


def test_every_crd_is_kept() -> None:
    """The schema of a CRD has properties that are called like those of a Secret."""
    for it in schema.documents().values():
        assert redaction.thing(yaml.safe_load(it))["kind"] == "CustomResourceDefinition"


def test_yaml_within_a_text_is_read_as_manifests_are() -> None:
    """Keys are texts, and aliases that multiply are not followed."""
    assert redaction.value("1: {token: a}\ntrue: b\n") == (
        f'{{"1": {{"token": "{redaction.REDACTED}"}}, "true": "b"}}'
    )
    levels = [f"l{it}: &l{it} [{', '.join([f'*l{it - 1}'] * 10)}]" for it in range(1, 9)]
    bomb = "\n".join(["l0: &l0 [x]", *levels])
    assert redaction.value(bomb) == bomb
