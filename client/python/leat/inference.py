"""Fills in inputs that you leave out, from the arguments of earlier stages.

`pad(128)` pads every list that `tokenize` made. `pack`, `chunk` and `bucket` use these lists, too. The daemon knows all fields
and fills in the rest: the text for `tokenize`, and the fields that fit into a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .errors import SpecError
from .spec import Arguments, Stage


class TokenList(NamedTuple):
    """A list with one or two elements for each token id in the list `of`."""

    name: str
    of: str
    per_token: int = 1


def _made_by_tokenize(given: Arguments) -> list[TokenList]:
    ids = str(given.get("output", "input_ids"))
    made = [TokenList(ids, ids)]
    if given.get("return_token_type_ids"):
        made.append(TokenList("token_type_ids", ids))
    if given.get("return_offsets_mapping"):
        made.append(TokenList("offset_mapping", ids, 2))
    if given.get("return_assistant_tokens_mask"):
        made.append(TokenList("assistant_masks", ids))
    return made


def _names(given: object) -> list[str]:
    return [given] if isinstance(given, str) else [str(name) for name in given] if isinstance(given, list) else []


def _after(lists: list[TokenList], kind: str, given: Arguments) -> list[TokenList]:
    """Returns the lists that are not padded yet after this stage."""
    if kind == "tokenize":
        made = _made_by_tokenize(given)
        names = {item.name for item in made}
        return [item for item in lists if item.name not in names] + made
    if kind == "causal_labels":
        return [*lists, TokenList(str(given.get("output", "labels")), str(given.get("input", "input_ids")))]
    if kind == "pad":
        return [item for item in lists if item.name != given.get("input")]
    if kind == "select":
        return [item for item in lists if item.name in _names(given.get("fields"))]
    if kind == "pack":
        return []
    if kind == "rename":
        new = given.get("fields") or {}
        return [TokenList(new.get(item.name, item.name), new.get(item.of, item.of), item.per_token) for item in lists]
    return lists


def token_lists(stages: Sequence[Stage]) -> list[TokenList]:
    """Returns the lists that are not padded yet after these stages, the oldest first."""
    lists: list[TokenList] = []
    for kind, given in stages:
        lists = _after(lists, kind, given)
    return lists


def _none_there(kind: str, argument: str) -> SpecError:
    text = f"no earlier stage makes a list of tokens: name the list yourself, {kind}(.., {argument}=..)"
    return SpecError(text, path=f"{kind}.{argument}")


def _expand_pad(stages: Sequence[Stage], given: Arguments) -> list[Stage]:
    """Makes a `pad` for each list. Only token ids get a mask and the padding value."""
    lists = token_lists(stages)
    if not lists:
        raise _none_there("pad", "input")
    expanded: list[Stage] = []
    taken = {str(stage[1]["mask"]) for stage in stages if stage[0] == "pad" and "mask" in stage[1]}
    for item in lists:
        own = {"input": item.name, **{name: value for name, value in given.items() if name not in ("mask", "value")}}
        for name in ("length", "multiple_of"):
            if name in own:
                own[name] *= item.per_token
        if item.name == item.of:
            mask = given.get("mask", "attention_mask" if "attention_mask" not in taken else f"{item.name}_mask")
            own |= {"mask": mask} if mask else {}
            own |= {"value": given["value"]} if "value" in given else {}
            taken.add(str(mask))
        expanded.append(("pad", own))
    return expanded


def _expand_fields(stages: Sequence[Stage], kind: str, given: Arguments) -> list[Stage]:
    """Passes to `chunk` or `pack` all lists that have one element for each of the last token ids. So the stage cuts these
    lists at the same places."""
    lists = token_lists(stages)
    if not lists:
        raise _none_there(kind, "fields")
    of = lists[-1].of
    fields = [item.name for item in lists if item.of == of and item.per_token == 1]
    return [(kind, {"fields": fields, **given})]


def expand(stages: Sequence[Stage], kind: str, given: Arguments) -> list[Stage]:
    """Returns the stages to add for a stage with these arguments, after the given `stages`."""
    lists = token_lists(stages)
    if kind == "pad" and "input" not in given:
        return _expand_pad(stages, given)
    if kind in ("chunk", "pack") and "fields" not in given:
        return _expand_fields(stages, kind, given)
    if kind == "bucket" and "input" not in given:
        if not lists:
            raise _none_there(kind, "input")
        return [(kind, {"input": lists[-1].of, **given})]
    if kind == "causal_labels" and "input" not in given and lists and lists[-1].of != "input_ids":
        return [(kind, {"input": lists[-1].of, **given})]
    return [(kind, given)]
