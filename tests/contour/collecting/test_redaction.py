"""What is planted does not come out; what a bug report needs does."""

import json
from typing import Any

import pytest
import yaml

from contour.collecting import redaction
from crds import raw

PLANTED = "pl4nt3d-S3cret"
KEY = f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----\n"
TOKEN = f"eyJhbGciOiJub25lIn0.{PLANTED}.c2ln"


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
    ],
)
def test_what_a_report_needs_is_shown(found: dict[str, Any]) -> None:
    assert redaction.value(found) == found
