"""The settings of upstream are told with fields that a ContourConfiguration has."""

import re
from functools import cache

import pytest

from contour.files import upstream
from crds import kinds, schema
from tests.crds import openapi

CONFIGURATION = next(it for it in kinds.KINDS.values() if it.kind == "ContourConfiguration")
GATEWAY_FIELD = "spec.infrastructure.labels of the Gateway"
NAMED = sorted(
    {*upstream.DEPLOYMENT_SETTINGS.values(), *upstream.FILE_SETTINGS.values()}
    - {GATEWAY_FIELD, upstream._FLAGS}
)


@cache
def fields() -> set[str]:
    (version,) = schema.crd(CONFIGURATION)["spec"]["versions"]
    found = openapi.parts(version["schema"]["openAPIV3Schema"])
    return {
        f"{path}.{name}".lstrip(".") for path, node in found for name in node.get("properties", {})
    } | {"spec"}


@pytest.mark.parametrize("where", [it for it in NAMED if it.startswith("spec")])
def test_the_field_exists(where: str) -> None:
    assert where in {re.sub(r"\[\]", "", it) for it in fields()}
