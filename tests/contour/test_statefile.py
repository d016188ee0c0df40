"""Files of the state directory that cannot be read, and cannot be replaced either."""

from pathlib import Path

import pytest

from contour import statefile


@pytest.mark.parametrize("name", ["of-a-directory", "of-a-file/below"])
def test_where_there_can_be_no_file_there_is_none_and_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (tmp_path / "of-a-directory").mkdir()
    (tmp_path / "of-a-file").touch()
    schema = "CREATE TABLE IF NOT EXISTS replies (it TEXT)"
    assert statefile.opened(tmp_path / name, schema, "replies", "replies") is None
    (warning,) = caplog.messages
    assert warning.startswith(f"replies in {tmp_path / name} cannot be read: ")
    assert (tmp_path / "of-a-directory").is_dir()


def test_a_file_with_a_damaged_page_is_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, schema = (
        tmp_path / "replies",
        "CREATE TABLE IF NOT EXISTS replies (it TEXT, size INTEGER)",
    )
    file = statefile.opened(path, schema, "replies", "replies")
    assert file is not None
    with file:
        file.execute("INSERT INTO replies VALUES (?, 1)", ("x" * 100_000,))
    file.close()
    raw = bytearray(path.read_bytes())
    raw[-8192:] = bytes(8192)  # pages that a loss of power left unwritten
    path.write_bytes(raw)
    again = statefile.opened(path, schema, "replies", "replies")
    assert again is not None
    assert again.execute("SELECT * FROM replies").fetchall() == []
    again.close()
    (warning,) = caplog.messages
    assert warning.startswith(f"replies in {path} cannot be read: ")
