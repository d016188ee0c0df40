"""An applier that works for months remembers what is still applied, and nothing else."""

from typing import Any

import pytest

from provisioning.keeping import applying
from provisioning.keeping.applying import Applier
from provisioning.keeping.children import digest
from provisioning.keeping.ownership import Owner, Ownership
from provisioning.templating import Document

OURS = Ownership(Owner("default", "contour"), "tests")
HOUR = 3600


def _object(name: str) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {}}


async def test_objects_that_went_with_their_namespace_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, requests = [0.0], list[str]()

    async def applied(_: Applier, document: Document, __: Ownership) -> tuple[Document, str]:
        requests.append(document["metadata"]["name"])
        return document, ""

    monkeypatch.setattr(Applier, "_apply", applied)
    monkeypatch.setattr(applying, "_MOST", 10, raising=False)
    monkeypatch.setattr(applying, "_now", lambda: now[0])
    client: Any = None
    applier, stays = Applier(client, "tests"), _object("stays")
    for number in range(200):
        now[0] = number * HOUR / 6
        await applier.apply(stays, OURS, digest(stays))
        await applier.apply(_object(f"goes-{number}"), OURS)
    assert len(applier._known) < 25
    assert requests.count("stays") == 1
