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
        ("/x/..;/a", "/a"),
        ("/x/..;a=b;c/a;d", "/a;d"),
        ("/.;/x/.;y", "/x/"),
        ("/x/..;\\y/a", "/a"),
        ("/x/...;/a", "/x/...;/a"),
        ("/x/%2e%2e;/a", "/x/..;/a"),
        ("/x/..%3b/a", "/x/..%3b/a"),
        ('/"a"<b>\\^`{|}?"q"', '/%22a%22%3Cb%3E/%5E%60%7B%7C%7D?"q"'),
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
        (Request("a.test", "/a%00?b"), 400),
        (Request("a.test", method="CONNECT"), 400),
        (Request("a.test", method="FOO"), 400),
        (Request("a.test", method="QUERY"), 400),
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


def test_slashes_are_unescaped_before_dot_segments_end_at_them() -> None:
    found = normalization.normal(Request("a.test", "/x/..;a%2fb/c"), Settings())
    assert isinstance(found, Answer)
    assert found.location == "/b/c"


def test_methods_of_http3_are_not_those_of_a_parser() -> None:
    asked = Request("a.test", method="FOO", is_secure=True, is_http3=True)
    assert isinstance(normalization.normal(asked, Settings()), Request)
