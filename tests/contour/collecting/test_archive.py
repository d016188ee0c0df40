"""What cannot be written does not keep the rest from being collected."""

import json
import tarfile
from pathlib import Path

import pytest

from contour.collecting.archive import Archive


@pytest.mark.parametrize("number", [1 << 64, 99999999999999999999, -(1 << 63) - 1])
def test_a_number_of_more_than_64_bits_is_a_text(number: int) -> None:
    archive = Archive()
    archive.data("a.json", [{"weight": number}, {"weight": (1 << 64) - 1}, {"weight": -(1 << 63)}])
    assert json.loads(archive.files["a.json"]) == [
        {"weight": str(number)}, {"weight": (1 << 64) - 1}, {"weight": -(1 << 63)},
    ]  # fmt: skip
    assert not archive.missing


def test_what_cannot_be_written_is_missing_and_the_rest_is_there(tmp_path: Path) -> None:
    archive = Archive()
    archive.data("a.json", {"name": "\ud800"})
    archive.lacks("the rest of b-\udcff.yaml", "not read")
    archive.data("c.json", {"name": "shown"})
    archive.write(tmp_path / "report.tar.gz")
    with tarfile.open(tmp_path / "report.tar.gz") as tar:
        files = {it.name: opened.read() for it in tar if (opened := tar.extractfile(it))}
    assert files.keys() == {"contour/c.json", "contour/missing.txt"}
    assert files["contour/missing.txt"].decode().splitlines() == [
        "a.json: str is not valid UTF-8: surrogates not allowed",
        r"the rest of b-\udcff.yaml: not read",
    ]
