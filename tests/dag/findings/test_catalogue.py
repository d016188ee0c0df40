"""Whatever can be told has a remedy."""

import pytest

from dag.findings import catalogue
from dag.problems import reasons

WELL = {
    reasons.Contour.Valid, reasons.Contour.ErrorPresent, reasons.Gateway.Accepted,
    reasons.Gateway.Merged, reasons.Gateway.Overridden, reasons.Gateway.Programmed,
    reasons.Gateway.ResolvedRefs, reasons.Gateway.SupportedVersion,
    reasons.Marin3r.CacheOutOfSync, reasons.Marin3r.RollbackFailed, reasons.Marin3r.Valid,
    reasons.Marin3r.DesiredVersionPublished, reasons.Marin3r.Recovered,
}  # fmt: skip
"""They say that all is well, or are types of conditions."""

REASONS = [
    *reasons.Contour, *reasons.EnvoyGateway, *reasons.Gateway, *reasons.Own, *reasons.Marin3r,
]  # fmt: skip


@pytest.mark.parametrize("reason", sorted(set(REASONS) - WELL))
def test_a_reason_has_a_remedy(reason: str) -> None:
    assert catalogue.remedy(reason)


@pytest.mark.parametrize("code", [*catalogue.Code, *reasons.CommandLine])
def test_a_code_is_explained(code: reasons.Word) -> None:
    entry = catalogue.OWN[code]
    assert entry.why.endswith(".")
    assert entry.remedy.endswith(".")


def test_codes_and_reasons_are_distinct() -> None:
    assert not {str(it) for it in catalogue.OWN} & catalogue.REMEDIES.keys()
