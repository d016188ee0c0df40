"""What becomes of EnvoyConfigs in the loop: none of them ends it."""

import json

import pytest

from contour.controller import Controller
from contour.rawconfig.reading import Reader
from crds.envoyconfig import EnvoyConfig
from crds.meta import NamespacedName
from dag.rawconfig import content
from dag.rawconfig.content import Reading
from tests.contour.rawconfig.documents import document
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
