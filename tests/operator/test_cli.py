"""The command line of the operator."""

import subprocess
import sys

import pytest

WITHOUT_KOPF = """
import sys
sys.modules["kopf"] = None  # as if it were not installed
from contour_operator.cli import main
main(sys.argv[1:], prog_name="contour-operator")
"""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run"], 2, "contour-operator: kopf is not installed: pip install"),
        (["--help"], 0, "Provisions instances"),
        (["run", "--help"], 0, "--trusted-namespaces"),
        (["--version"], 0, "contour-operator, version"),
    ],
)
def test_without_its_extra_it_says_what_to_install(
    arguments: list[str], code: int, words: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_KOPF, *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
