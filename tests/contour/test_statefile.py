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
