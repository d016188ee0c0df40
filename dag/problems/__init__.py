"""Problems: what statuses say about errors, and how a rule reports them.

There is one class, `Problem`, and there are two ways to report one:

- A rule that goes on *yields* the problem. It answers a stream of problems and then its node
  (`places.Findings`), so it cannot forget to report:
  `yield problems.ignored_field(place.at("timeoutPolicy").at("idle"))`.
- A rule that cannot go on *raises* `Refused` with the problem, the only exception of the rules:
  `raise Refused(problems.include_not_found(place, target))`. It ends the part that cannot be served
  (a route, an include, a Secret); whoever serves the rest catches it and yields its problem.

To leave out a part that guards something would open what it guards. The problem says so itself
(`closes`): its constructor also writes the words "answered with 503", so that what is told and what
is done cannot differ. Whoever catches it answers 503 in place of the part.

*Queries* are memoised, so they return a value: the node, or the problem
(`view.ask(services.upstream, key)` is an `Upstream | Problem`). The subject of such a problem is
the object that the query is about, and its message is a whole sentence ("Service a/b not found"); a
rule that refers to the object reports it at a place of its own:
`problems.service_unresolved(at, found.message)`. The constructors are in `referents`.

*Rules that several kinds share* do not know whose object they read. They get the place, and the
kind's constructors of problems (`places.Constructor`):
`durations.timeout(place.at("response"), written.response, problems.timeout_not_valid)`.

*Values* (`dag.values`) know nothing of objects. `refusal(text)` is why a text is not valid, as the
end of a sentence that begins with it, or None; the rule that reads the field makes a problem of it.

Each kind has a catalogue here, with one constructor for each thing that can be told. Types and
reasons are members of the enums in `reasons`, and defined only there. Elsewhere: where a problem is
shown (`dag.statuses` and the `status` rules of each API).
"""

from typing import Literal

from crds.meta import ObjectRef
from crds.records import dataclass
from dag.problems.reasons import Word


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an object, reported in that object's status and nowhere else."""

    subject: ObjectRef
    type: Word
    """The condition or sub-condition type, e.g. `TLSError`."""
    reason: Word
    message: str
    """A sentence for people; begins with the path of the field where there is one."""
    severity: Literal["error", "warning"] = "error"
    closes: bool = False
    """The part must not be left out: it is answered with 503, or its connections closed."""


class Refused(Exception):  # noqa: N818 (a decision, not a failure)
    """The part of an object that a rule reads cannot be served."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
