"""What an EndpointSlice tells of itself."""

from crds.endpointslice import SERVICE_NAME
from crds.meta import NamespacedName
from tests.crds import documents
from tests.crds.objects import decoded


def test_a_slice_says_whose_endpoints_it_holds() -> None:
    document = documents.endpointslice()
    assert decoded(document).service is None
    document["metadata"]["labels"] = {SERVICE_NAME: "api"}
    assert decoded(document).service == NamespacedName("web", "api")


def test_a_condition_that_is_absent_differs_from_one_that_is_false() -> None:
    document = documents.endpointslice()
    document["endpoints"] = [
        {"addresses": ["10.0.0.1"]},
        {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
    ]
    assert [it.conditions.ready for it in decoded(document).endpoints] == [None, False]
