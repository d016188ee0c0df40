"""`contour analyze`: what is wrong with manifests or an instance, and what is worth a look."""

import sys
from typing import Literal

import click

from contour.answers.analyzed import SEVERITIES, ShownFinding, order
from contour.cli import findings, options, output, running, source, waiting


@click.command()
@options.manifests("ask the running `contour run`, or an instance in a cluster")
@source.options
@options.controller_name
@click.option(
    "-o", "--output", "format_", type=click.Choice(["text", "json", "yaml", "sarif", "github"]),
    default="text", show_default=True,
    help="Output format: text for people, JSON or YAML for programs, SARIF 2.1.0 for code "
    "scanning, workflow commands of GitHub Actions for annotations.",
)  # fmt: skip
@click.option(
    "--fail-on", type=click.Choice([*SEVERITIES, "never"]), default="error", show_default=True,
    help="Exit with code 1 if there is a finding of this severity or a worse one, shown or not.",
)  # fmt: skip
@click.option(
    "--severity", "least", type=click.Choice(SEVERITIES), default="info", show_default=True,
    help="Show findings of this severity and of worse ones.",
)  # fmt: skip
@click.option(
    "--ignore", "ignored", multiple=True, metavar="CODE", show_default="nothing",
    help="Leave out findings with this code. Can be given several times.",
)  # fmt: skip
def analyze(
    paths: tuple[str, ...],
    more: tuple[str, ...],
    controller_name: str | None,
    format_: Literal["text", "json", "yaml", "sarif", "github"],
    fail_on: Literal["error", "warning", "info", "never"],
    least: Literal["error", "warning", "info"],
    ignored: tuple[str, ...],
) -> None:
    """Finds what is wrong with manifests, and what is worth a look although it works.

    Each PATH is a file, a folder (recursive), or - for standard input. With PATH no instance has to
    run: the manifests are checked offline, and Envoy is assumed to accept them. Beside errors and
    warnings of statuses there are routes that never get a request, certificates for other hosts,
    guards that plain HTTP passes by, and more. Exit code 1 means findings, 2 that a path, a file
    or a document cannot be read, whatever is ignored, or that no instance runs.
    """
    source.refuse_contradictions(paths + more, "controller_name")
    _refuse_unknown(ignored)
    listed, is_unreadable = (
        _offline(paths + more, controller_name) if paths + more else (running.findings(), False)
    )
    found = [it for it in listed if it["code"] not in ignored]
    shown = sorted((it for it in found if _is_at_least(it, least)), key=order)
    match format_:
        case "text":
            output.say(*findings.text(shown))
        case "sarif":
            output.document(findings.sarif(shown), "json")
        case "github":
            for line in findings.annotations(shown):
                output.say(line)
        case _:
            output.document(shown, format_)
    if is_unreadable:
        sys.exit(2)
    if fail_on != "never" and any(_is_at_least(it, fail_on) for it in found):
        sys.exit(1)


def _refuse_unknown(ignored: tuple[str, ...]) -> None:
    """Ends the program for a code that nothing has."""
    from dag import hints
    from dag.findings import catalogue

    for it in ignored:
        if it not in catalogue.CODES:
            meant = hints.similar(it, sorted(catalogue.CODES))
            hint = f"; did you mean {meant}?" if meant else ""
            raise click.BadParameter(f"no finding has the code {it}{hint}", param_hint="'--ignore'")


def _is_at_least(found: ShownFinding, severity: Literal["error", "warning", "info"]) -> bool:
    return SEVERITIES.index(found["severity"]) <= SEVERITIES.index(severity)


def _offline(
    paths: tuple[str, ...], controller_name: str | None
) -> tuple[list[ShownFinding], bool]:
    """The findings, and whether there is a file or document that cannot be read."""
    from contour.cli import manifestinput
    from contour.inspection.analysis import Analyzer

    read = manifestinput.read(paths, controller_name, lenient=False, translates=False)
    if manifestinput.is_empty(read):
        output.say(f"contour: there are no objects in {', '.join(paths)}", err=True)
    analyzer = Analyzer(read.controller.engine, read.controller.board, read.locate)
    with waiting.shown("checking objects"):
        return [it for it in analyzer.steps() if it is not None], read.is_unreadable
