"""Random objects grown from a schema: mostly of the right shape, so that the finer rules decide."""

import random
from typing import Any

Schema = dict[str, Any]

TEXTS = (
    "", "x", "a.b", "*.a.b", "/", "/a", "5s", "100ms", "infinity", "infinite", "1.1.1.1",
    "10.0.0.0/8", "a/b", "h2c", "tls", "1.2", "1.3", "X-A", "https://a.b/jwks", "no-store",
    "X_y", "*",
)  # fmt: skip
NUMBERS = (0, 1, 2, 80, 443, 503, 8080, 65_535, 65_536, -1, 1 << 31, 1 << 40)
DEEPEST = 9
SPARSE = 2
"""The depth from which on few fields are set."""


def grown(schema: Schema, chance: random.Random, depth: int = 0) -> Any:
    """A value for a schema; now and then one that breaks it."""
    if "enum" in schema and chance.random() < 0.95:
        return chance.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return chance.choice((0, 3, "50%", "x"))
    match schema.get("type", "object"):
        case "object":
            return _object(schema, chance, depth)
        case "array":
            fewest = schema.get("minItems", 0)
            count = chance.choice((fewest, max(fewest, 1), max(fewest, 1), fewest + 2))
            return [grown(schema["items"], chance, depth + 1) for _ in range(count)]
        case "string":
            return _text(schema, chance)
        case "boolean":
            return chance.random() < 0.5
    return _number(schema, chance)


def _object(schema: Schema, chance: random.Random, depth: int) -> Any:
    if "additionalProperties" in schema:
        return {"a": grown(schema["additionalProperties"], chance, depth + 1)}
    required, fields = schema.get("required", ()), schema.get("properties", {})
    likely = 0.25 if depth >= SPARSE else min(0.6, 9 / max(len(fields), 1))
    return {
        name: grown(it, chance, depth + 1)
        for name, it in fields.items()
        if (name in required and chance.random() < 0.99)
        or (name not in required and depth < DEEPEST and chance.random() < likely)
    }


def _text(schema: Schema, chance: random.Random) -> str:
    fitting = [it for it in TEXTS if len(it) >= schema.get("minLength", 0)]
    if chance.random() < 0.05:
        return "a" * int(schema.get("maxLength", 99) + 1)
    text: str = chance.choice(fitting)
    return text


def _number(schema: Schema, chance: random.Random) -> int:
    least, most = schema.get("minimum", 0), schema.get("maximum", 65_535)
    fitting = [it for it in (*NUMBERS, least, most) if least <= it <= most]
    return chance.choice(fitting if chance.random() < 0.95 else NUMBERS)
