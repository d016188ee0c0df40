import pytest

from dag.configuration.reading import Settings
from dag.evaluation import normalization
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from dag.nodes import Edge


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/a/./b/../c", "/a/c"),
        ("/..", "/"),
        ("/a/..", "/"),
        ("//a///b", "/a/b"),
        ("/%61", "/a"),
        ("/%20?x=%2f", "/%20?x=%2f"),
        ("/a?b=/../c", "/a?b=/../c"),
    ],
)
def test_a_path_gets_its_normal_form(path: str, seen: str) -> None:
    found = normalization.normal(Request("a.test", path), Settings())
    assert isinstance(found, Request)
    assert found.path == seen


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (Request(""), 400),
        (Request("a.test,b.test"), 400),
        (Request("a.test:"), 400),
        (Request("a.test", headers=(("x_y", "1"),)), 400),
        (Request("a.test", "/a%2fb"), 307),
    ],
)
def test_what_no_route_is_to_see_is_answered(request_: Request, status: int) -> None:
    found = normalization.normal(request_, Settings())
    assert isinstance(found, Answer)
    assert found.status == status


def test_the_settings_say_what_happens_to_escaped_slashes() -> None:
    asked = Request("a.test", "/a%2Fb")
    kept = normalization.normal(asked, Settings(edge=Edge(escaped_slashes="Keep")))
    forwarded = normalization.normal(
        asked, Settings(edge=Edge(escaped_slashes="UnescapeAndForward"))
    )
    refused = normalization.normal(asked, Settings(edge=Edge(escaped_slashes="Reject")))
    assert [it.path for it in (kept, forwarded) if isinstance(it, Request)] == ["/a%2Fb", "/a/b"]
    assert isinstance(refused, Answer)
    assert refused.status == 400
