"""Names for things that have none, by their content: an edit of one does not rename the others."""

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b


def named(found: Iterable[object]) -> tuple[str, ...]:
    """A name for each: the text that it is, else a digest of its content; equal ones are
    numbered."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for it in found:
        name = it if isinstance(it, str) else blake2b(repr(it).encode(), digest_size=8).hexdigest()
        names.append(f"{name}/{seen[name]}")
        seen[name] += 1
    return tuple(names)
