"""A dictionary as the text of an experiment file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ._native import FarlinkError
from ._settings import text_of


def document(tree: Mapping[str, object]) -> str:
    """The text of an experiment: values first, then a table for each dictionary."""
    return "\n".join(_table((), tree)) + "\n"


def value(name: str, given: object) -> str:
    """A value, or a list of values, as TOML."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, (int, float)):
        return repr(given)
    if isinstance(given, Mapping):
        inner = ", ".join(f"{_key(key)} = {value(key, it)}" for key, it in given.items())
        return f"{{{inner}}}"
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        return "[" + ", ".join(value(name, one) for one in given) + "]"
    return _text(text_of(name, given))


def _table(path: tuple[str, ...], tree: Mapping[str, object]) -> Iterable[str]:
    later: list[str] = []
    for key, given in tree.items():
        if not isinstance(key, str):
            raise FarlinkError(f"a key of an experiment is text, not {key!r}")
        inner = (*path, key)
        if isinstance(given, Mapping):
            later += [f"\n[{'.'.join(map(_key, inner))}]", *_table(inner, given)]
        elif _is_list_of_tables(given):
            for one in given:  # type: ignore[attr-defined]
                later += [f"\n[[{'.'.join(map(_key, inner))}]]", *_table(inner, one)]
        else:
            yield f"{_key(key)} = {value('.'.join(inner), given)}"
    yield from later


def _is_list_of_tables(given: object) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(it, Mapping) for it in given)


def _key(key: str) -> str:
    is_bare = key and all(it.isascii() and (it.isalnum() or it in "-_") for it in key)
    return key if is_bare else _text(key)


def _text(text: str) -> str:
    # A JSON string is one of TOML, but for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
