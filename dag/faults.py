"""How the rules that several kinds share say that a part cannot be served.

They do not know whose object they read, so they raise a `Fault`, and the rule of the kind makes a
problem of it: in its catalogue, at its place.
"""

from crds.meta import NamespacedName


class Fault(Exception):  # noqa: N818 (a decision, not a failure)
    """Why a part cannot be served."""

    def __init__(self, reason: str, step: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        """Upstream's word for it."""
        self.step = step
        """The path of the field below the part; empty for the part itself."""
        self.text = text


def reference(written: str, namespace: str) -> NamespacedName:
    """The object that `name` or `namespace/name` means; ValueError if it is neither."""
    match written.split("/"):
        case [name] if name:
            return NamespacedName(namespace, name)
        case [elsewhere, name] if elsewhere and name:
            return NamespacedName(elsewhere, name)
        case _:
            raise ValueError(f"{written[:60]!r} is neither a name nor namespace/name")
