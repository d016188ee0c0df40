"""`hack/conformance`: the conformance suite of the Gateway API on a cluster of its own.

Exit codes: 0 all passed, 1 something failed, 2 it could not be run.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from tests import golang
from tests.cluster import assets
from tests.conformance import command, programs, report, world

CHANNELS = ("experimental", "standard")
NEWEST = next(iter(programs.RELEASES))


def parser() -> argparse.ArgumentParser:
    """What can be said."""
    found = argparse.ArgumentParser(prog="hack/conformance", description=__doc__)
    found.add_argument(
        "tests", nargs="*", metavar="TEST", help="short names of the tests to run; default: all"
    )
    found.add_argument("--build", action="store_true", help="build what is missing, test nothing")
    found.add_argument(
        "--release",
        choices=tuple(programs.RELEASES),
        default=NEWEST,
        help="release of the suite and of the CRDs; default: %(default)s",
    )
    found.add_argument(
        "--channel",
        choices=CHANNELS,
        default=CHANNELS[0],
        help="release channel of the CRDs; default: %(default)s",
    )
    found.add_argument("--profile", action="append", choices=command.PROFILES)
    found.add_argument(
        "--minutes", type=int, default=60, help="time limit in minutes; default: %(default)s"
    )
    found.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="folder to keep the logs and the report in"
    )
    found.add_argument(
        "--publish",
        action="store_true",
        help="store the report of a complete run in docs/conformance",
    )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds, runs, tells."""
    options = parser().parse_args(arguments)
    try:
        assets.build()
        programs.RELEASES[options.release].build()
    except golang.MissingError as error:
        print(f"hack/conformance: {error}", file=sys.stderr)
        return 2
    if options.build:
        return 0
    for it in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(it, signal.default_int_handler)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="conformance-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"Logs are in {folder}.", flush=True)
    return _run(options, folder.resolve())


def _run(options: argparse.Namespace, folder: Path) -> int:
    written = folder / "report.yaml"
    written.unlink(missing_ok=True)
    release = programs.RELEASES[options.release]
    with world.running(folder, release, options.channel) as ready:
        wish = command.Wish(
            tests=options.tests,
            profiles=options.profile or command.PROFILES,
            minutes=options.minutes,
            report=written,
            usable_address=ready.usable_address,
            unusable_address=ready.unusable_address,
        )
        program = [str(release.suite.path), *command.arguments(wish)]
        code, heard = _ask(program, ready.kubeconfig, folder)
    if not heard.verdicts:
        print(f"hack/conformance: {_why(heard)}; {folder}/suite.log ends so:", file=sys.stderr)
        print("\n".join((folder / "suite.log").read_text().splitlines()[-10:]), file=sys.stderr)
    if not heard.ran:
        return 2
    if written.is_file():
        print(report.table(report.read(written)))
        if options.publish:
            report.published(written)
    return 1 if code else 0


class _Heard(NamedTuple):
    """What the suite told of its tests."""

    started: Sequence[str]
    verdicts: Mapping[str, str]
    """Nothing if the suite fails when it tidies up: then Go prints no verdicts."""

    @property
    def ran(self) -> bool:
        """Whether any test was run."""
        return bool(self.started) or any(it != "SKIP" for it in self.verdicts.values())


def _why(heard: _Heard) -> str:
    if not heard.ran:
        return "no test was run"
    return (
        f"{len(heard.started)} tests were run, but the suite ended before it told what became of"
        " them, as it does when its tidy-up fails; its report, if there is one, tells"
    )


def _ask(program: Sequence[str], kubeconfig: Path, folder: Path) -> tuple[int, _Heard]:
    """Runs the suite, and tells each verdict as it comes; its exit code, and what it told."""
    with (
        (folder / "suite.log").open("w") as log,
        subprocess.Popen(
            program,
            cwd=folder, env=os.environ | {"KUBECONFIG": str(kubeconfig)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as running,
    ):  # fmt: skip
        try:
            assert running.stdout is not None
            heard = _tell(running.stdout, log)
            return running.wait(), heard
        finally:
            running.kill()


def _tell(output: IO[str], log: IO[str]) -> _Heard:
    """The suite tells what became of its tests only when all have ended."""
    begun: list[str] = []
    verdicts: dict[str, str] = {}
    for line in output:
        log.write(line)
        log.flush()
        if started := command.started(line):
            begun.append(started)
            print(f"  {started}", flush=True)
        verdicts |= command.verdicts([line])
    for name in sorted(it for it in verdicts if verdicts[it] == "FAIL"):
        print(f"FAILED {name}")
    told = list(verdicts.values())
    counts = (f"{told.count(it)} {word}" for it, word in command.WORDS.items())
    print(", ".join(counts), flush=True)
    return _Heard(begun, verdicts)


if __name__ == "__main__":
    os.umask(0o022)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(2)
