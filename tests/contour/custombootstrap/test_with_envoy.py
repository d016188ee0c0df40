"""What we accept, Envoy starts with, and it stays connected."""

from pathlib import Path

import pytest

from tests.contour.custombootstrap import trials
from tests.contour.custombootstrap.generated import FREE, PROTECTED

pytestmark = pytest.mark.envoy


async def test_envoy_serves_with_what_we_accept(tmp_path: Path) -> None:
    """A sample; `hack/bootstraps` starts thousands."""
    found = await trials.tried(tmp_path / "state", 24, seed=3)
    accepted = [it for it in found if not it.refusal]
    assert [(it.given.changes, it.outcome) for it in accepted if it.outcome != trials.SERVES] == []
    assert {it.given.custom.type for it in accepted} == {"Replace", "Merge", "JSONPatch"}
    guarded = [it for it in found if it.given.is_protected]
    assert guarded
    assert all(it.refusal for it in guarded)
    assert {name for it in found for name in it.given.changes} <= FREE.keys() | PROTECTED.keys()
