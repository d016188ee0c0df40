"""What is kept in the user's cache."""

import os
from pathlib import Path

from tests import cache


def test_what_was_made_or_used_last_is_kept(tmp_path: Path) -> None:
    for age, name in enumerate(("newest", "newer", "old", "oldest")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
        (tmp_path / f"{name}.lock").touch()
    assert cache.is_there(tmp_path / "oldest")  # a use, which makes it the newest
    assert not cache.is_there(tmp_path / "none")
    cache.forget(tmp_path, kept=2)
    assert {it.name for it in tmp_path.iterdir()} == {
        *("newest", "oldest"),
        *("newest.lock", "oldest.lock"),
    }
