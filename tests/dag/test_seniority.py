"""Who comes first of objects."""

from datetime import UTC, datetime

from crds.meta import ObjectMeta
from dag import seniority


def test_the_older_comes_first_then_the_text_of_namespace_and_name() -> None:
    def made(text: str, second: int = 1) -> ObjectMeta:
        namespace, _, name = text.partition("/")
        created = datetime(2026, 1, 1, second=second, tzinfo=UTC)
        return ObjectMeta(name=name, namespace=namespace, creation_timestamp=created)

    found = [made("a/x"), made("ab/a"), made("a-b/x"), made("a/b"), made("z/z", 0)]
    ordered = sorted(map(seniority.senior, found))
    assert [str(it.key) for it in ordered] == ["z/z", "a-b/x", "a/b", "a/x", "ab/a"]
