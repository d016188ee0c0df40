"""What the task pages of Envoy Gateway apply, in our words: the effect that a page describes, and
that it is not there without what the page is about.

The table of these pages in the documents is held against the rows: which pages there are, their
kinds, and what is served of them. A page without rows has its proof elsewhere.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.features import rows
from tests.features.stage import Stage
from tests.features.test_rows import require_not_so, require_so

_ROWS = rows.rows("tasks")
_ROOT = Path(__file__).parents[2]
_TABLE = (
    (_ROOT / "docs/coming-from-envoy-gateway.md")
    .read_text()
    .split("## The task pages\n")[1]
    .partition("\n## ")[0]
)
_EXTENSIONS = "tests/e2e/test_extension_routes.py::test_the_example_of_a_header_filter_is_served"
_READ = "tests/dag/envoyproxy/test_reading.py"
_TOLD = f"{_READ}::test_every_other_field_is_told"
_ELSEWHERE = {
    "extensibility/extension-server": _EXTENSIONS,
    "observability/proxy-accesslog": _TOLD,
    "observability/proxy-metric": _TOLD,
    "observability/proxy-trace": _TOLD,
    "operations/airgap-deployment": f"{_READ}::test_what_is_set_arrives",
    "operations/customize-envoyproxy": "tests/workflows/test_envoyproxies.py"
    "::test_each_type_of_service_is_reached_and_a_tenant_gets_no_more",
    "operations/deployment-mode": _TOLD,
    "operations/graceful-shutdown": _TOLD,
    "operations/standalone-deployment-mode": "tests/docs/test_coming_from_envoy_gateway.py"
    "::test_the_manifests_of_the_page_are_served_on_one_machine",
    "security/private-key-provider": "tests/dag/patches/test_policies.py"
    "::test_a_name_that_leads_nowhere_is_told_with_what_there_is",
    "security/tls-cert-manager": "tests/e2e/test_tls.py"
    "::test_a_renewed_certificate_is_served_and_no_request_is_lost",
    "traffic/gateway-address": "tests/e2e/test_routability.py"
    "::test_an_address_is_reached_from_where_it_is_asked_to_be",
}
"""The test that proves what the table says of a page without rows."""


class Page(NamedTuple):
    """A line of the table."""

    name: str
    kinds: str
    served: str
    remarks: str


_LINES = re.findall(r"^\| (\w+/.*?) \| (.*?) \| (.*?) \| ?(.*?) ?\|$", _TABLE, re.MULTILINE)
_PAGES = [Page(*it) for it in _LINES]


def _page(row: rows.Row) -> str:
    return f"{row.file.rpartition('/')[2]}/{row.page}"


@pytest.mark.envoy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_so(tasks: Stage, row: rows.Row) -> None:
    await require_so(tasks, row)


@pytest.mark.envoy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_not_so_without_one_of_the_fields(tasks: Stage, row: rows.Row) -> None:
    await require_not_so(tasks, row)


@pytest.mark.parametrize("row", _ROWS, ids=str)
def test_a_row_is_of_a_page_asks_and_has_a_mutant(row: rows.Row) -> None:
    assert row.page
    assert row.asks
    assert row.proven


def test_the_table_has_each_page_that_is_proved_once_and_no_other() -> None:
    proved = {*map(_page, _ROWS)}
    assert not proved & set(_ELSEWHERE)
    assert [it.name for it in _PAGES] == sorted(proved | set(_ELSEWHERE))


@pytest.mark.parametrize("page", _PAGES, ids=lambda it: it.name)
def test_the_table_says_what_the_rows_of_a_page_prove(page: Page) -> None:
    found = [it for it in _ROWS if _page(it) == page.name]
    told = [it for it in found if it.wrong]
    if told and told == found:
        assert page.served == "no"
    elif told:
        assert page.served == "in part"
    elif found:
        assert page.served in {"yes", "in part"}
    assert page.served == "yes" or page.remarks
    proved = {it.kind for row in found for it in row.proven} - {"ListenerSet"}
    assert proved <= set(page.kinds.split(", "))


@pytest.mark.parametrize("proof", sorted(set(_ELSEWHERE.values())))
def test_the_tests_of_pages_without_rows_exist(proof: str) -> None:
    file, _, name = proof.partition("::")
    assert re.search(rf"^(async )?def {name}\(", (_ROOT / file).read_text(), re.MULTILINE)
