"""A digest of all that is served and told for some documents, as a program.

    python -m tests.laws.digest FILE

Run in processes of their own, with different hash seeds, to see that nothing depends on the order
of a set.
"""

import hashlib
import json
import sys
from pathlib import Path

from contour.events import Batch, Event
from crds.decode import Decoded, decode
from tests.laws.histories import Served


def digest(documents: list[object]) -> str:
    """The digest; what is refused is left out."""
    found = [it for it in map(decode, documents) if isinstance(it, Decoded) and it.object]
    served = Served()
    events = tuple(Event(it.kind, it.key, it.object) for it in found)
    served.controller.take(Batch(events, {}))
    told = [(str(name), body.hex()) for name, body in sorted(served.bodies().items())]
    rows = [str(it) for it in served.controller.board.rows()]
    assert len(told) > 20
    assert len(rows) > 10
    return hashlib.blake2b(json.dumps([told, rows]).encode()).hexdigest()


if __name__ == "__main__":
    print(digest(json.loads(Path(sys.argv[1]).read_text())))
