"""In which line what is told of an object stands."""

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import orjson
import pytest

from contour import files
from contour.complaints import ManifestSource
from contour.files import lines, parse, places, reading
from contour.status import rows
from contour.status.board import Board, Remark
from crds.meta import ObjectRef
from tests.contour.files.written import proxy, stream

B = ObjectRef("HTTPProxy", "default", "b")
TEXT = stream(proxy("a"), proxy("b"))


@pytest.fixture
def manifests(tmp_path: Path) -> files.Manifests:
    (tmp_path / "it.yaml").write_text(TEXT)
    found = files.Manifests([tmp_path])
    found.read()
    return found


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("spec.routes[0].services[0]", "- name: web"),
        ("spec.routes[0].services[0].port", "port: 80"),
        ("spec.virtualhost.fqdn", "fqdn: example.com"),
        ("spec.virtualhost.tls.secretName", "virtualhost:"),  # where it would stand
        ("metadata.annotations[a.b/c]", "metadata:"),
        ("", "apiVersion:"),
    ],
)
def test_a_field_is_found_in_its_document(
    tmp_path: Path, manifests: files.Manifests, field: str, line: str
) -> None:
    place = manifests.locator()(B, field)
    assert place is not None
    assert place.file == str(tmp_path / "it.yaml")
    lines = TEXT.splitlines()
    assert lines[place.line - 1].strip().startswith(line)
    assert place.line > len(proxy("a").splitlines())


def test_a_file_that_has_changed_since_tells_the_line_of_the_document(
    tmp_path: Path, manifests: files.Manifests
) -> None:
    (tmp_path / "it.yaml").write_text("# another\n" * 50)
    place = manifests.locator()(B, "spec.virtualhost.fqdn")
    assert place is not None
    assert TEXT.splitlines()[place.line - 1].startswith("apiVersion")
    assert manifests.locator()(ObjectRef("HTTPProxy", "default", "c"), "spec") is None


def test_the_name_of_a_file_can_be_told_whatever_its_bytes(tmp_path: Path) -> None:
    for name, document in (("good", proxy("a")), ("again", proxy("a")), ("bad", "a: [")):
        Path(os.fsdecode(bytes(tmp_path / name) + b"\xff.yaml")).write_text(document)
    manifests = files.Manifests([tmp_path])
    board = Board()
    for subject, found in manifests.read().complaints.items():
        if isinstance(subject, ObjectRef):
            board.remark(subject, "", tuple(Remark("error", it.message, it) for it in found))
        else:
            board.complain(subject, found)
    located = [it.located(manifests.locator()) for it in (*board.rows(), *board.file_rows())]
    told = orjson.dumps([rows.plain(it) for it in located]).decode()
    assert "bad\\\\udcff.yaml" in told
    assert "again\\\\udcff.yaml" in told
    owner = manifests.locator()(ObjectRef("HTTPProxy", "default", "a"), "")
    assert owner is not None
    assert owner.file == f"{tmp_path}/again\\udcff.yaml"


def test_a_listing_reads_a_file_once_and_looks_up_so_many_fields(
    manifests: files.Manifests, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    content = reading.content

    def counted(file: ManifestSource) -> reading.Content:
        reads.append(file)
        return content(file)

    monkeypatch.setattr(reading, "content", counted)
    locate = manifests.locator()
    found = [locate(B, "spec.virtualhost.fqdn") for _ in range(places.MOST + 1)]
    assert len(reads) == 1
    assert len(set(found[:-1])) == 1
    assert found[-1] != found[0]


def test_a_list_is_read_once_for_all_of_its_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{n}"}} for n in range(9)]
    secrets = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"s{n}"}, "type": "Opaque"}
        for n in range(9)
    ]
    found = {"apiVersion": "v1", "kind": "List", "items": pods + secrets}
    (tmp_path / "it.yaml").write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    read: list[str] = []

    def note(module: ModuleType, name: str) -> None:
        function: Callable[..., object] = getattr(module, name)

        def noted(*arguments: object, **named: object) -> object:
            read.append(name)
            return function(*arguments, **named)

        monkeypatch.setattr(module, name, noted)

    note(lines, "compose")
    manifests = files.Manifests([tmp_path])
    manifests.read()
    assert read == ["compose"]  # for the places of what is told of the pods
    note(parse, "value")
    original, locate = manifests.originals(), manifests.locator()
    refs = [ObjectRef("Secret", "default", f"s{n}") for n in range(9)]
    assert [original(it) for it in refs] == secrets
    places = [locate(it, "type") for it in refs]
    assert len({it.line for it in places if it is not None}) == 9
    assert read == ["compose", "value", "compose"]
