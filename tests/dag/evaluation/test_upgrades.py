"""Which requests ask for another protocol, and which routes allow that."""

import pytest

from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from tests.dag.world import FLEET, world

PROXY = """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: p, namespace: default}
spec:
  virtualhost: {fqdn: a.com}
  routes:
  - directResponsePolicy: {statusCode: 200}
"""


@pytest.mark.parametrize(
    ("connection", "upgrade", "status"),
    [
        ("upgrade", "websocket", 403),
        ("keep-alive, Upgrade", "websocket", 403),
        ("Upgrade", "", 403),
        ("Upgrade", "h2c, websocket", 403),
        ("keep-alive", "websocket", 200),
        ("upgrades", "websocket", 200),
        ("", "websocket", 200),
        ("Upgrade, HTTP2-Settings", "h2c", 200),
        ("Upgrade", "H2C", 200),
    ],
)
def test_an_upgrade_is_refused_where_the_connection_asks_for_it(
    connection: str, upgrade: str, status: int
) -> None:
    asked = Request("a.com", headers=(("connection", connection), ("upgrade", upgrade)))
    assert evaluator.evaluate(world(PROXY), FLEET, asked).answer.status == status
