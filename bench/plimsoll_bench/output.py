"""What benchmarks print: one JSON object, and no success where a figure is no number."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import cast


def print_json(figures: object, *, indent: int | None = None) -> None:
    """Print figures; where any is not finite, print null for it and end with an error."""
    text = json.dumps(figures, indent=indent)
    plain = json.loads(text, parse_constant=lambda _: None)
    print(text if not [*_not_finite(figures)] else json.dumps(plain, indent=indent))
    require_finite(figures)


def require_finite(figures: object) -> None:
    """End the program with an error that names the figures that are no finite numbers, if any."""
    names = [*_not_finite(figures)]
    if names:
        raise SystemExit(f"not a finite number: {', '.join(names)}")


def _not_finite(figures: object, name: str = "") -> Iterator[str]:
    """The names of figures that are not finite, with a dot between those within one another."""
    if isinstance(figures, float) and not math.isfinite(figures):
        yield name
    for key, each in _parts(figures):
        yield from _not_finite(each, f"{name}.{key}" if name else str(key))


def _parts(figures: object) -> Iterator[tuple[object, object]]:
    if isinstance(figures, Mapping):
        yield from cast("Mapping[object, object]", figures).items()
    elif isinstance(figures, list | tuple):
        yield from enumerate(cast("list[object]", figures))
