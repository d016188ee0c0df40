"""Metrics as Prometheus reads them."""

from prometheus_client import generate_latest, parser

from observability import exposition

Values = dict[tuple[str, ...], float]


def values(source: exposition.Source, name: str) -> Values:
    """The values of one sample name, by the values of its labels in order of their names."""
    text = generate_latest(exposition.Metrics(source).registry).decode()
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }
