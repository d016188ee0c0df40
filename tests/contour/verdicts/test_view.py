"""What is shown of verdicts to those who look into a fault."""

import json

from contour.verdicts import view
from contour.verdicts.testimony import Listening, News, Refusal
from tests.contour.verdicts.test_merging import APP, HOST, leader


def test_every_replica_is_shown_with_what_it_says() -> None:
    verdicts, _ = leader()
    verdicts.connected(1)
    news = News(2, {"http": Listening("v1", is_pending=True)}, {HOST: Refusal((APP,), "bad")})
    verdicts.take("two", news)
    found = json.loads(json.dumps(view.fleet(verdicts)))
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
