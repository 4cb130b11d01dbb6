"""What may stand where the user's cursor is, by the parsers of the commands."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

_LONG: Final = "--"
_MANY: Final = ("*", "+")
_LIST: Final = ",…"
"""How a metavar ends that stands for words with commas between them."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word, and what it means."""

    word: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """What may stand at the cursor; `files`: or the name of a file."""

    candidates: tuple[Candidate, ...] = ()
    files: bool = False


@dataclass(frozen=True, slots=True)
class _Typed:
    """How far the words before the cursor lead: to a parser, and into its arguments."""

    parser: argparse.ArgumentParser
    values: argparse.Namespace
    positionals: int = 0
    awaiting: argparse.Action | None = None


Named = Callable[[str, argparse.Namespace], Sequence[Candidate]]
"""Names from the cluster for an argument, by its destination and what was typed before it."""


def words_at(
    parser: argparse.ArgumentParser, typed: Sequence[str], start: str, named: Named
) -> Words:
    """What may follow the words that were typed, if it begins like `start`."""
    option, equals, value = start.partition("=")
    found = _typed(parser, typed)
    if equals and option.startswith(_LONG):
        action = _options(found.parser).get(option)
        return _ending(action, found, named, value, f"{option}=") if action else Words()
    if found.awaiting is not None:
        return _ending(found.awaiting, found, named, start)
    if start.startswith("-"):
        return _beginning(Words(tuple(_option_words(found.parser))), start)
    positional = _positional(found)
    return _beginning(_values(positional, found.values, named) if positional else Words(), start)


def _ending(
    action: argparse.Action, found: _Typed, named: Named, start: str, prefix: str = ""
) -> Words:
    """How the value of an option may end; of a list, how its last word may."""
    words = _values(action, found.values, named)
    if not str(action.metavar).endswith(_LIST):
        return _beginning(words, start, prefix=prefix)
    before, comma, last = start.rpartition(",")
    others = tuple(each for each in words.candidates if each.word not in before.split(","))
    return _beginning(replace(words, candidates=others), last, prefix=prefix + before + comma)


def _typed(parser: argparse.ArgumentParser, typed: Sequence[str]) -> _Typed:
    found = _Typed(parser, argparse.Namespace())
    for word in typed:
        found = _after(found, word)
    return found


def _after(found: _Typed, word: str) -> _Typed:
    """How far one more word leads."""
    if found.awaiting is not None:
        setattr(found.values, found.awaiting.dest, word)
        return replace(found, awaiting=None)
    option, equals, value = word.partition("=")
    action = _options(found.parser).get(option)
    if action is not None:
        if equals:
            setattr(found.values, action.dest, value)
        return found if equals or action.nargs == 0 else replace(found, awaiting=action)
    positional = _positional(found)
    parser = _parsers(positional).get(word) if positional is not None else None
    if parser is not None:
        return _Typed(parser, found.values)
    if positional is not None:
        setattr(found.values, positional.dest, word)
    return replace(found, positionals=found.positionals + 1)


def _actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    return parser._actions  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no public way


def _parsers(action: argparse.Action) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of the commands among which an argument chooses; none if it does not."""
    choices = action.choices
    if not isinstance(choices, Mapping):
        return {}
    return cast("Mapping[str, argparse.ArgumentParser]", choices)


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {name: each for each in _actions(parser) for name in each.option_strings}


def _positional(found: _Typed) -> argparse.Action | None:
    actions = [each for each in _actions(found.parser) if not each.option_strings]
    if actions and actions[-1].nargs in _MANY:
        return actions[min(found.positionals, len(actions) - 1)]
    return actions[found.positionals] if found.positionals < len(actions) else None


def _option_words(parser: argparse.ArgumentParser) -> Iterator[Candidate]:
    for each in _actions(parser):
        for name in each.option_strings:
            if name.startswith(_LONG):
                yield Candidate(name, each.help or "")


def _values(action: argparse.Action, values: argparse.Namespace, named: Named) -> Words:
    parsers = _parsers(action)
    if parsers:
        return Words(tuple(Candidate(name, of.description or "") for name, of in parsers.items()))
    if action.choices is not None:
        return Words(tuple(Candidate(str(each)) for each in action.choices))
    is_file = action.metavar in ("FILE", "PATH", "DIR")
    return Words(files=True) if is_file else Words(tuple(named(action.dest, values)))


def _beginning(words: Words, start: str, *, prefix: str = "") -> Words:
    """The words that begin so, each with the prefix that it stands behind."""
    kept = (each for each in words.candidates if each.word.startswith(start))
    return replace(
        words, candidates=tuple(Candidate(prefix + each.word, each.about) for each in kept)
    )
