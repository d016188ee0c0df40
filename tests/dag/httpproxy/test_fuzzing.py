"""`hack/fuzz --sitting` goes on where it ended, and keeps the count."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.dag.httpproxy import fuzzing


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "KEPT", 7)


def test_two_sittings_are_as_one(tmp_path: Path) -> None:
    first = fuzzing.sitting(tmp_path, 10)
    both = fuzzing.sitting(tmp_path, 20)
    assert first.total() == 10
    assert both == fuzzing.sitting(tmp_path / "other", 30)
    record = json.loads((tmp_path / "fuzz.json").read_text())
    assert Counter(record["outcomes"]) == both
    (tried,) = (it for it in record["figures"] if it["name"] == "objects tried")
    assert (tried["value"], tried["target"], tried["reached"]) == (30, 5_000_000, False)


def test_what_raises_is_a_missed_figure(tmp_path: Path) -> None:
    fuzzing.sitting(tmp_path, 1)
    path = tmp_path / "fuzz.json"
    path.write_text(json.dumps({"outcomes": {"failed": 1}}))
    assert fuzzing.sitting(tmp_path, 1)["failed"] == 1
    missed = [it for it in json.loads(path.read_text())["figures"] if it["reached"] is False]
    assert [it["name"] for it in missed] == ["objects tried", "rules that raised"]
