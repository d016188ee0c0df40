"""The command line of `hack/bench` and `hack/chaos`, which passes its arguments to pytest.

python -m hack.measuring bench|chaos …
"""

import contextlib
import io
import sys
from pathlib import Path

import click
import pytest

from hack import figures
from tests.testbed import published

HERE = Path(__file__).parent
WHERE = {"bench": [HERE / "bench"], "chaos": [HERE / "chaos", HERE.parents[1] / "tests" / "faults"]}
MARKERS = {"bench": "bench", "chaos": "fault"}
PYTEST = (
    *("-p", "tests.testbed.measuring", "-p", "no:cacheprovider", "-p", "no:logging", "-q"),
    *("-o", "python_files=*.py", "-o", "consider_namespace_packages=true", "--no-header"),
)


class Names:
    """Collects the names of all measurements."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Adds the name of a measurement."""
        self.found.append(item.name)


@click.command()
@click.argument("which", type=click.Choice(["bench", "chaos"]))
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--json", "path", metavar="FILE", help="Also write all figures as JSON.")
@click.option("--runs", type=click.IntRange(1), help="How often, instead of the usual number.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of what is left to chance.")
@click.option("--quick", is_flag=True, help="Smaller and fewer: everything within minutes.")
@click.option("--publish", is_flag=True, help="Keep the figures in the repository.")
@click.option("--list", "list_them", is_flag=True, help="Only say what there is.")
def main(  # noqa: PLR0913, PLR0917 — one parameter an option
    which: str,
    names: tuple[str, ...],
    path: str | None,
    runs: int | None,
    seed: int,
    quick: bool,
    publish: bool,
    list_them: bool,
) -> None:
    """Runs the named measurements, or all; exits with 1 if a target is not reached."""
    arguments = [*PYTEST, "-m", MARKERS[which], *map(str, WHERE[which])]
    if list_them or names:
        known = _names(arguments)
        if unknown := set(names) - set(known):
            raise click.UsageError(
                f"no {', '.join(sorted(unknown))} here; there is {', '.join(known)}"
            )
    if list_them:
        click.echo("\n".join(known))
        return
    arguments += [f"--row={it}" for it in names]
    arguments += [f"--seed={seed}", *(["--quick"] if quick else [])]
    arguments += [f"--runs={runs}"] if runs else []
    arguments += [f"--figures={path}"] if path else []
    if publish:
        try:
            published.check_committed(HERE.parents[1], figures.FOLDER)
        except published.UncommittedError as error:
            raise click.UsageError(str(error)) from error
        arguments.append(f"--publish={figures.FOLDER}")
    sys.exit(pytest.main(arguments))


def _names(arguments: list[str]) -> list[str]:
    """The names of all measurements that these arguments of pytest select."""
    known = Names()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*arguments, "--collect-only"], [known])
    return known.found


if __name__ == "__main__":
    main(prog_name="hack/measuring")
