"""One line for each use of another namespace that begins or ends; so many at a time."""

import logging
from collections.abc import Collection

import pytest

from contour import audit
from contour.audit import CrossingsChange
from contour.controller import Controller
from crds.meta import ObjectRef
from dag.crossings import Crossing
from tests.contour.test_controller import SERVICE, Published, events

WHO = ObjectRef("HTTPProxy", "shop", "web")
CERT = ObjectRef("Secret", "certs", "cert")
ONE = Crossing("spec.a", CERT, (ObjectRef("TLSCertificateDelegation", "certs", "one"),))
OTHER = ONE._replace(permitted_by=(ObjectRef("TLSCertificateDelegation", "certs", "two"),))
ELSEWHERE = ONE._replace(field="spec.b")

PROXY = """
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: web, namespace: default}
spec:
  virtualhost: {fqdn: a.com, tls: {secretName: certs/cert}}
  routes: [{services: [{name: web, port: 80}]}]
"""
DELEGATION = """
---
apiVersion: projectcontour.io/v1
kind: TLSCertificateDelegation
metadata: {name: d, namespace: certs}
spec: {delegations: [{secretName: cert, targetNamespaces: ['*']}]}
"""


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ((), (ONE,), [("uses", "spec.a", "one")]),
        ((ONE,), (), [("no longer uses", "spec.a", "one")]),
        ((ONE,), (OTHER,), [("uses", "spec.a", "two")]),
        ((ONE,), (ONE, ELSEWHERE), [("uses", "spec.b", "one")]),
        (
            (ONE,),
            (ELSEWHERE,),
            [("no longer uses", "spec.a", "one"), ("uses", "spec.b", "one")],
        ),
    ],
)
def test_what_begins_and_what_ends_is_written(
    old: tuple[Crossing, ...],
    new: tuple[Crossing, ...],
    lines: list[tuple[str, str, str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, audit.__name__)
    audit.log_changes([CrossingsChange(WHO, old, new)])
    found = [
        (it.getMessage(), vars(it)["field"], vars(it)["permitted_by"]) for it in caplog.records
    ]
    assert found == [
        (
            f"HTTPProxy shop/web {verb} Secret certs/cert in another namespace",
            *(field, f"TLSCertificateDelegation certs/{by}"),
        )
        for verb, field, by in lines
    ]


def test_very_many_at_once_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, audit.__name__)
    audit.log_changes(CrossingsChange(WHO, (), (ONE,)) for _ in range(audit.MOST + 7))
    assert len(caplog.records) == audit.MOST + 1
    assert caplog.records[-1].getMessage().startswith("7 more")


def test_each_change_is_told_once() -> None:
    heard: list[Collection[CrossingsChange]] = []
    controller = Controller(Published())
    controller.audit = heard.append
    controller.take(events(SERVICE + PROXY))
    assert not heard
    controller.take(events(DELEGATION))
    controller.take(events(DELEGATION))
    controller.take(events(PROXY.replace("a.com", "b.com")))
    ((crossings,),) = heard
    assert (crossings.who.name, crossings.old, [it.target for it in crossings.new]) == (
        "web",
        (),
        [CERT],
    )
    controller.take(events(PROXY, gone=True))
    assert heard[1:] == [[CrossingsChange(crossings.who, crossings.new, ())]]
