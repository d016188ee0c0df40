"""What `contour demo` says of what it serves."""

import shlex
from pathlib import Path

from contour.demo import copying, showing
from contour.host import state
from dag.nodes import Listener

LISTENERS = [
    Listener("ingress_http", "HTTP", 80, "127.0.0.1", 8080),
    Listener("ingress_https", "HTTPS", 443, "127.0.0.1", 8443),
]


def test_commands_can_be_copied_to_a_shell_whatever_the_paths(tmp_path: Path) -> None:
    folder = tmp_path / "it's my demo"
    copy = copying.Copy(folder)
    with state.claimed(folder / "state") as directory:
        text = showing._explanation(copy, directory, LISTENERS)
    commands = [shlex.split(it) for it in text.splitlines() if it.startswith("  ")]
    assert [it[2] for it in commands if "--cacert" in it] == [str(copy.authority)]
    assert [it[-1] for it in commands if "status" in it] == [str(directory.path)]
