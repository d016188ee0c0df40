"""Which Ingresses are for this controller; the others have no route and no status."""

import pytest

from dag.ingress.status import status
from tests.dag.ingress.manifests import (
    configuration,
    ingress,
    ingress_class,
    path,
    rule,
    services,
)
from tests.dag.world import apply, delete, key, routes, world

OURS, OTHERS = "projectcontour.io/ingress-controller", "example.com/other"
LISTED = configuration("ingress: {classNames: [mine]}")


@pytest.mark.parametrize(
    ("others", "spec", "annotation", "served"),
    [
        ("", "", "", True),
        ("", "contour", "", True),
        ("", "other", "", False),
        ("", "other", "projectcontour.io/ingress.class: contour", True),
        ("", "contour", "kubernetes.io/ingress.class: other", False),
        (ingress_class("x", OURS), "x", "", True),
        (ingress_class("x", OTHERS), "x", "", False),
        (ingress_class("x", OURS, default=True), "", "", True),
        (ingress_class("x", OTHERS, default=True), "", "", False),
        (ingress_class("x", OTHERS), "", "", True),
        (LISTED, "", "", False),
        (LISTED, "contour", "", False),
        (LISTED, "mine", "", True),
        (LISTED + ingress_class("x", OURS), "x", "", False),
    ],
)
def test_the_class_decides(others: str, spec: str, annotation: str, served: bool) -> None:
    class_name = f"ingressClassName: {spec}, " if spec else ""
    rules = f"{class_name}rules: [{rule('a.com', path('/', 's1'))}]"
    engine = world(others + services("s1") + ingress("i", rules, annotations=annotation))
    assert routes(engine, "a.com") == (["/ -> default/s1:80"] if served else [])
    assert (engine.answer(status, key("i")) is not None) == served


def test_a_class_that_comes_and_goes_takes_its_ingresses_along() -> None:
    rules = f"ingressClassName: x, rules: [{rule('a.com', path('/', 's1'))}]"
    engine = world(services("s1") + ingress("i", rules))
    assert routes(engine, "a.com") == []
    apply(engine, ingress_class("x", OURS))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    delete(engine, "IngressClass", "/x")
    assert routes(engine, "a.com") == []
