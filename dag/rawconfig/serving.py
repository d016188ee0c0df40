"""What the Envoys of a node ID get, as a query; and what the engine maintains for it."""

from dag.engine.view import Kept, View, query
from dag.rawconfig import claims, references, revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.content import READINGS, Content, Unread


@query
def served(view: View, key: NodeKey) -> tuple[str, Content | Unread] | None:
    """The edition and its content; None if there is nothing to serve."""
    owner = view.ask(claims.owner, key)
    choice = view.ask(revisions.choice, owner) if owner is not None else None
    if choice is None or choice.published is None:
        return None
    return choice.edition, choice.published


INDEXES = (claims.CLAIMS, references.SLICES)
KEPT = (Kept(revisions.history, READINGS),)
