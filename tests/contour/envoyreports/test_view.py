"""What is shown of reports to those who look into a fault."""

import json

from contour.envoyreports import view
from contour.envoyreports.report import ListenerState, Refusal, ReportDelta
from tests.contour.envoyreports.test_merging import APP, HOST, leader


def test_every_replica_is_shown_with_what_it_says() -> None:
    reports, _ = leader()
    reports.connected(1)
    delta = ReportDelta(
        2, {"http": ListenerState("v1", is_pending=True)}, {HOST: Refusal((APP,), "bad")}
    )
    reports.take("two", delta)
    found = json.loads(json.dumps(view.fleet(reports)))
    assert found["fleet"] == "web"
    assert found["replicas"][""]["envoys"] == 1
    assert found["replicas"]["two"] == {
        "envoys": 2,
        "listeners": {"http": {"version": "v1", "is_pending": True}},
        "refusals": [
            {
                "type": HOST[0].type_url,
                "name": "web",
                "part": "a.test",
                "objects": ["HTTPProxy default/app"],
                "words": "bad",
            }
        ],
    }
