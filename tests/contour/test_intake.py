"""Objects that cannot be judged: they are told, and stop no other."""

import pytest

from contour import intake
from contour.controller import Controller
from crds.meta import NamespacedName, ObjectRef
from crds.secret import Secret
from dag import nodes, tables
from dag.references import secrets
from tests.contour.test_controller import Published, events
from tests.testbed import pairs

CHAIN, KEY = pairs.pair()


def _taken(text: str) -> Controller:
    controller = Controller(Published())
    controller.take(events(text))
    return controller


def _secret(controller: Controller, name: str) -> Secret:
    found = controller.engine.row(tables.SECRETS, NamespacedName("default", name))
    assert isinstance(found, Secret)
    return found


def test_a_certificate_that_ends_in_the_year_0_cannot_serve_and_stops_no_other() -> None:
    odd = pairs.with_pair("odd", pairs.in_year_0(CHAIN), KEY)
    controller = _taken(odd + pairs.secret("good"))
    assert not isinstance(secrets.checked(_secret(controller, "odd")), nodes.Secret)
    assert isinstance(secrets.checked(_secret(controller, "good")), nodes.Secret)


def test_what_raises_while_an_object_is_judged_is_a_fault_of_that_object(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    controller = _taken(pairs.secret("one") + pairs.secret("other"))
    new = pairs.pair(1)

    def planted(found: Secret) -> None:
        if found.metadata.name == "one" and found.data["tls.crt"] != CHAIN:
            raise ZeroDivisionError("planted")

    monkeypatch.setattr(intake, "_judged", planted)
    controller.take(events(pairs.with_pair("one", *new) + pairs.with_pair("other", *new)))
    assert "cannot judge the Secret default/one" in caplog.text
    faults = controller.board.faults(ObjectRef("Secret", "default", "one"))
    assert faults == ("it cannot be judged: ZeroDivisionError",)
    chains = [_secret(controller, it).data["tls.crt"] for it in ("one", "other")]
    assert chains == [CHAIN, new[0]]
