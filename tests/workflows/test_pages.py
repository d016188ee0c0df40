"""The pages that one follows in a cluster, from `kubectl apply` to HTTP answers."""

import os
import sys
from pathlib import Path

import pytest

from hack import pages
from tests.docs.pages.following import Reader
from tests.testbed.processes import ROOT
from tests.workflows.site import Site

PATIENCE = 150.0  # seconds, for one block: pods start meanwhile
FIRST = ROOT / "docs" / "tutorials" / "first-cluster.md"
OTHERS = [it for it in pages.pages() if pages.needs_cluster(it) and it != FIRST]


def test_the_tutorial_can_be_followed(bare_site: Site, tmp_path: Path) -> None:
    """With an operator, in a cluster that has nothing else."""
    follow(FIRST, bare_site, tmp_path)


@pytest.mark.parametrize("page", OTHERS, ids=lambda it: it.stem)
def test_a_page_can_be_followed(page: Path, shared_site: Site, tmp_path: Path) -> None:
    """Each installs an instance, or finds that of the one before."""
    follow(page, shared_site, tmp_path)


def follow(page: Path, site: Site, folder: Path) -> None:
    """As the administrator; raises WrongError where the page is not right."""
    checkout = folder / "reader"
    checkout.mkdir()
    (checkout / "manifests").symlink_to(ROOT / "manifests")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "KUBECONFIG": str(site.cluster.admin),
    }
    Reader(checkout, environment, PATIENCE).follow(pages.blocks(page))
