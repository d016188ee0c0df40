"""The command line of `hack/bench` and `hack/chaos`: `python -m hack.measuring bench|chaos …`."""

import importlib
import pkgutil
import sys
import traceback
from pathlib import Path

import click
from rich.console import Console

from hack.measuring import figures, registry

ROOT = Path(__file__).parents[2]


@click.command()
@click.argument("which", type=click.Choice(["bench", "chaos"]))
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path),
    help="Also write the figures to this file, as JSON.",
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    help="Repeat each measurement so many times instead of its usual number.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of random choices.")
@click.option(
    "--quick",
    is_flag=True,
    help="Use smaller worlds and fewer runs, so that everything takes minutes.",
)
@click.option(
    "--list",
    "list_them",
    is_flag=True,
    help="List the names of the measurements, and measure nothing.",
)
def main(  # noqa: PLR0913, PLR0917 — one parameter an option
    which: str,
    names: tuple[str, ...],
    path: Path | None,
    runs: int | None,
    seed: int,
    quick: bool,
    list_them: bool,
) -> None:
    """Runs the named measurements, or all of them. Exits with 1 if a target is not reached."""
    known = _loaded(which)
    if unknown := set(names) - set(known.measurements):
        raise click.UsageError(
            f"no {', '.join(sorted(unknown))} here; there is {', '.join(known.measurements)}"
        )
    if list_them:
        click.echo("\n".join(known.measurements))
        return
    with registry.outcomes_file(ROOT / ".measured", which).open("a") as outcomes:
        options = registry.Options(seed, runs, quick, outcomes)
        found = _measured(known, names or tuple(known.measurements), options)
    if path is not None:
        figures.save(found, path)
    sys.exit(any(it.reached is False for it in found))


def _loaded(which: str) -> registry.Registry:
    package = importlib.import_module(f"hack.measuring.{which}")
    for module in sorted(it.name for it in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return registry.BENCH if which == "bench" else registry.CHAOS


def _measured(
    known: registry.Registry, names: tuple[str, ...], options: registry.Options
) -> list[figures.Figure]:
    """Shows each table as soon as it is there; what fails does not stop the others."""
    console, found = Console(width=110), []
    for name in names:
        console.print(f"[bold]{name}[/bold]  (seed {options.seed})")
        try:
            some = list(known.figures([name], options))
        except Exception:
            console.print(
                "".join(traceback.format_exc().splitlines(keepends=True)[-20:]), markup=False
            )
            some = [figures.Figure(f"{name}: measurements that failed", 1, "", 0)]
        figures.show(some, console)
        found += some
    return found


if __name__ == "__main__":
    main()
