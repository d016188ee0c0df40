"""The drawing shows which objects have a say in which host."""

from contour.controller import Controller
from contour.pages import dot
from tests.contour.test_controller import SERVICE, Published, events, proxy


def test_hosts_hang_on_their_listeners_and_objects_on_their_hosts() -> None:
    controller = Controller(Published())
    controller.take(events(SERVICE + proxy("a", "a.test") + proxy("b", "b.test")))
    lines = dot.drawing(controller.engine).splitlines()
    assert lines[0] == "digraph contour {"
    assert lines[-1] == "}"
    for line in (
        '"contour/ingress_http" -> "contour/ingress_http/a.test"',
        '"contour/ingress_http/a.test" -> "HTTPProxy default/a"',
        '"contour/ingress_http/b.test" -> "HTTPProxy default/b"',
        '"contour/ingress_http/a.test" [shape=box label="a.test\\n1 routes"]',
    ):
        assert f"  {line}" in lines
    controller.take(events(proxy("a", "a.test"), gone=True))
    assert "a.test" not in dot.drawing(controller.engine)
