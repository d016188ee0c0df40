"""What becomes of EnvoyConfigs in the loop: none of them ends it."""

import json
from typing import Any

import pytest

from contour.controller import Controller
from contour.rawconfig import reading, snapshot
from contour.rawconfig.reading import Reader
from crds.envoyconfig import EnvoyConfig
from crds.meta import NamespacedName
from dag.rawconfig import content, revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.content import Reading
from dag.rawconfig.revisions import Revision
from tests.contour.rawconfig.documents import document, read, revision
from tests.contour.test_controller import Published, events

GOOD = "resources: [{type: cluster, value: {name: a}}]"


def _taken(*names: str) -> list[Reading | None]:
    controller = Controller(Published())
    documents = [json.dumps(document(GOOD, it)) for it in names]
    controller.take(events("\n---\n".join(documents)))
    row = controller.engine.row
    return [row(content.READINGS, NamespacedName("default", it)) for it in names]


def test_one_that_makes_the_reader_fail_has_an_error_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Reader.reading

    def planted(self: Reader, found: EnvoyConfig) -> Reading:
        if found.metadata.name == "bad":
            raise KeyError("planted")
        return real(self, found)

    monkeypatch.setattr(Reader, "reading", planted)
    bad, good = _taken("bad", "good")
    assert bad == Reading("proxy", "", None, (content.Remark("spec", "cannot be read: KeyError"),))
    assert good is not None
    assert good.content is not None
    assert "cannot read the EnvoyConfig default/bad" in caplog.text
    assert "planted" in caplog.text


SLICE = """
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s, labels: {app: web}},
addressType: IPv4, endpoints: [{addresses: [10.0.0.%d]}], ports: [{name: http, port: 80}]}
"""
FROM_SLICES = """resources:
- {type: cluster, value: {name: a}}
- type: endpoint
  generateFromEndpointSlices:
    {selector: {matchLabels: {app: web}}, clusterName: e, targetPort: http}
"""


def test_other_endpoints_do_not_have_an_older_revision_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller, key = Controller(Published()), NamespacedName("default", "test")
    controller.envoy_configs.are_stored = True
    stored = revision(FROM_SLICES, read(FROM_SLICES).version)
    older = reading.unread(stored)
    assert older is not None
    controller.engine.write(revisions.HISTORY, key, (Revision(older, is_taken=True),))
    controller.take(events(SLICE % 1))
    controller.take(events(json.dumps(document("resources: [{type: cluster, value: {}}]"))))
    choice = controller.engine.answer(revisions.choice, key)
    assert choice is not None
    assert choice.published is older
    count = 0
    real = Reader.compared

    def counted(self: Reader, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        return real(self, *arguments)

    monkeypatch.setattr(Reader, "compared", counted)
    before = controller.engine.answer(snapshot.snapshot, NodeKey("default", "proxy"))
    controller.take(events(SLICE % 2))
    after = controller.engine.answer(snapshot.snapshot, NodeKey("default", "proxy"))
    assert before != after
    assert count == 0
