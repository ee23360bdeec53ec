"""The parts of an expression that have to come to a value of the right type each by itself. Pure.

CEL's `&&` and `||` take no notice of a side that fails where the other one decides, and `?:` never looks at one of its
sides. So a comparison that fails on every call goes unseen until a call comes on which it alone decides. Here each side
becomes an expression of its own, at whatever depth it stands, to be tried by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

Token = tuple[str, str]
"""Kind and text, as `expressions` reads them."""

MOST_PARTS = 200
MOST_CHOICES = 16
"""So many ways through the sides of `?:` are tried of one part."""
_OPENS, _CLOSES = ("(", "[", "{"), (")", "]", "}")
_SPACED = frozenset({"&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "*", "/", "%", "?", ":", "in"})
_EQUALS, _LITERALS = ("==", "!="), ("text", "number")


def parts(tokens: Sequence[Token], macros: frozenset[str]) -> list[tuple[str, str]]:
    """The expressions to be tried, each once, with what was written of it.

    One that has to be true or false is asked for as the condition of `?:`, which takes nothing else. One that is equal
    (or not) to a text, a number, true or false is asked whether it is less, since values of two types are merely
    different, and that one is less fails.
    """
    found = dict(_Reader(macros).sides(list(tokens), needs_truth=True))
    return list(found.items())[:MOST_PARTS]


class _Reader:
    def __init__(self, macros: frozenset[str]) -> None:
        self._macros = macros
        self._around: list[tuple[list[Token], Token]] = []

    def sides(self, tokens: list[Token], *, needs_truth: bool) -> Iterator[tuple[str, str]]:
        """What has to be tried of one expression."""
        if (ternary := _ternary(tokens)) is not None:
            yield from self.sides(ternary[0], needs_truth=True)
            for branch in ternary[1:]:
                yield from self.sides(branch, needs_truth=needs_truth)
            return
        for sign in ("||", "&&"):
            if len(several := _split(tokens, sign)) > 1:
                for one in several:
                    yield from self.sides(one, needs_truth=True)
                return
        if tokens[:1] == [("sign", "!")]:
            yield from self.sides(tokens[1:], needs_truth=True)
        elif tokens[:1] == [("sign", "(")] and _end(tokens, 0) == len(tokens) - 1:
            yield from self.sides(tokens[1:-1], needs_truth=needs_truth)
        else:
            yield from self._within(tokens)
            yield from self._tried(tokens, needs_truth)

    def _tried(self, tokens: list[Token], needs_truth: bool) -> Iterator[tuple[str, str]]:
        for way in _ways(tokens):
            text = _written(_ordered(way) or way)
            if needs_truth:
                text = f"({text}) ? 1 : 2"
            for of, variable in reversed(self._around):
                text = f"{_written(of)}.map({variable[1]}, {text})"
            yield text, _written(tokens)

    def _within(self, tokens: list[Token]) -> Iterator[tuple[str, str]]:
        """What stands in brackets: groups, what functions are given, items of lists, and bodies of macros."""
        at = 0
        while at < len(tokens):
            if tokens[at][1] not in _OPENS:
                at += 1
                continue
            end = _end(tokens, at)
            inner, at_open, at = tokens[at + 1 : end], at, end + 1
            listed = [one for one in _split(inner, ",") if one]
            if tokens[at_open][1] == "{":
                listed = [side for entry in listed for side in _entry(entry)]
            name = tokens[at_open - 1][1] if at_open else ""
            if tokens[at_open][1] == "(" and name in self._macros and len(listed) > 1:
                yield from self._body(name, _receiver(tokens[: at_open - 2]), listed)
                continue
            for one in listed:
                if len(one) > 1:
                    yield from self.sides(one, needs_truth=False)

    def _body(self, macro: str, of: list[Token], given: list[list[Token]]) -> Iterator[tuple[str, str]]:
        """The sides of what a macro asks of each element, asked of each element by `map`, which passes over nothing."""
        self._around.append((of, given[0][0]))
        for at, one in enumerate(given[1:], start=1):
            yield from self.sides(one, needs_truth=macro != "map" or at < len(given) - 1)
        self._around.pop()


def _written(tokens: Sequence[Token]) -> str:
    """The tokens as a text again."""
    found = ""
    for at, (_, value) in enumerate(tokens):
        is_binary = value == "-" and at > 0 and (tokens[at - 1][0] != "sign" or tokens[at - 1][1] in _CLOSES)
        found += f" {value} " if value in _SPACED or is_binary else f"{value} " if value == "," else value
    return found


def _ordered(tokens: list[Token]) -> list[Token] | None:
    """`a == 'b'` and `a in ['b', 'c']` as `a < 'b'`; None for any other expression."""
    places = [at for at in _outside(tokens) if tokens[at][1] in (*_EQUALS, "in")]
    if len(places) != 1:
        return None
    left, right = tokens[: places[0]], tokens[places[0] + 1 :]
    if tokens[places[0]][1] == "in":
        listed = _split(right[1:-1], ",") if right[:1] == [("sign", "[")] else []
        kinds = {one[-1][0] for one in listed if one}
        if len(kinds) != 1 or not all(map(_is_literal, listed)) or _end(right, 0) != len(right) - 1:
            return None
        right = listed[0]
    elif not (_is_literal(left) or _is_literal(right)):
        return None
    return [*left, ("sign", "<"), *right]


def _is_literal(tokens: list[Token]) -> bool:
    bare = tokens[1:] if tokens[:1] == [("sign", "-")] else tokens
    return len(bare) == 1 and (bare[0][0] in _LITERALS or bare[0][1] in ("true", "false"))


def _ways(tokens: list[Token]) -> list[list[Token]]:
    """The tokens with each `?:` inside of brackets by one of its sides: all ways, up to MOST_CHOICES."""
    pieces: list[list[list[Token]]] = []
    at = 0
    while at < len(tokens):
        if tokens[at][1] not in _OPENS:
            pieces.append([[tokens[at]]])
            at += 1
            continue
        end = _end(tokens, at)
        inner = tokens[at + 1 : end]
        several = [[inner]] if tokens[at][1] == "{" else [_branches(one) for one in _split(inner, ",")]
        pieces += [[[tokens[at]]], *_with_commas(several), [[tokens[end]]]]
        at = end + 1
    return [[token for piece in way for token in piece] for way in islice(product(*pieces), MOST_CHOICES)]


def _branches(tokens: list[Token]) -> list[list[Token]]:
    ternary = _ternary(tokens)
    sides = [tokens] if ternary is None else ternary[1:]
    return [way for side in sides for way in (_ways(side) if ternary is None else _branches(side))]


def _with_commas(given: list[list[list[Token]]]) -> Iterator[list[list[Token]]]:
    for at, one in enumerate(given):
        if at:
            yield [[("sign", ",")]]
        yield one


def _ternary(tokens: list[Token]) -> tuple[list[Token], list[Token], list[Token]] | None:
    """Condition and both sides of a `?:` that stands in no brackets; None where there is none."""
    outside = list(_outside(tokens))
    at = next((at for at in outside if tokens[at] == ("sign", "?")), None)
    if at is None:
        return None
    depth = 0
    for place in (place for place in outside if place > at):
        if tokens[place] == ("sign", "?"):
            depth += 1
        elif tokens[place] == ("sign", ":"):
            if depth == 0:
                return tokens[:at], tokens[at + 1 : place], tokens[place + 1 :]
            depth -= 1
    return None


def _split(tokens: list[Token], sign: str) -> list[list[Token]]:
    """The pieces between the places of a sign outside of brackets."""
    places = [at for at in _outside(tokens) if tokens[at] == ("sign", sign)]
    starts, ends = [0, *(at + 1 for at in places)], [*places, len(tokens)]
    return [tokens[start:end] for start, end in zip(starts, ends, strict=True)]


def _entry(tokens: list[Token]) -> list[list[Token]]:
    """Key and value of an entry of a map."""
    at = next((at for at in _outside(tokens) if tokens[at] == ("sign", ":")), len(tokens))
    return [tokens[:at], tokens[at + 1 :]]


def _outside(tokens: list[Token]) -> Iterator[int]:
    """The places of tokens that stand in no brackets."""
    depth = 0
    for at, (kind, value) in enumerate(tokens):
        if kind == "sign" and value in _CLOSES:
            depth -= 1
        if depth == 0:
            yield at
        if kind == "sign" and value in _OPENS:
            depth += 1


def _end(tokens: list[Token], at: int) -> int:
    """The place of the bracket that closes the one at `at`; there is one, since the expression compiles."""
    depth = 0
    for place in range(at, len(tokens)):
        kind, value = tokens[place]
        if kind == "sign":
            depth += (value in _OPENS) - (value in _CLOSES)
        if depth == 0:
            return place
    return len(tokens) - 1


def _receiver(tokens: list[Token]) -> list[Token]:
    """What a method at the end of these tokens is called on: names, calls and indexes with dots between."""
    at = len(tokens)
    while at > 0:
        kind, value = tokens[at - 1]
        if kind == "sign" and value in (")", "]", "}"):
            depth = 0
            while at > 0:
                at -= 1
                depth += (tokens[at][1] in _CLOSES) - (tokens[at][1] in _OPENS)
                if depth == 0:
                    break
            # What is before a bracket may still be its function, or what is indexed.
            if at > 0 and tokens[at - 1][0] == "name" and tokens[at - 1][1] != "in":
                continue
            if at > 0 and tokens[at - 1][1] in (")", "]") and value == "]":
                continue
        else:
            at -= 1
        if at > 0 and tokens[at - 1] == ("sign", "."):
            at -= 1
            continue
        break
    return tokens[at:]
