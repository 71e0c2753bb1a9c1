"""Batches as objects of your own type, so that a type checker knows their tensors."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from .errors import SpecError

T = TypeVar("T")


def _is_not_required(annotation: Any) -> bool:
    """True for NotRequired in an annotation that is a str. Python 3.11 does not evaluate such an annotation."""
    return str(getattr(annotation, "__forward_arg__", "")).removeprefix("typing.").startswith("NotRequired[")


class Kind(Generic[T]):
    """A TypedDict, a dataclass or a NamedTuple whose fields are named after tensors."""

    def __init__(self, kind: type[T]) -> None:
        """Raises SpecError if the type is not one of these."""
        fields: Any = getattr(kind, "_fields", None)
        if typing.is_typeddict(kind):
            names = set(kind.__annotations__)
            needed = {name for name in cast(Any, kind).__required_keys__ if not _is_not_required(kind.__annotations__[name])}
        elif isinstance(kind, type) and dataclasses.is_dataclass(kind):
            own = [field for field in dataclasses.fields(kind) if field.init]
            names = {field.name for field in own}
            missing = dataclasses.MISSING
            needed = {field.name for field in own if field.default is missing and field.default_factory is missing}
        elif fields is not None:
            names, needed = set(fields), set(fields) - set(cast(Any, kind)._field_defaults)
        else:
            raise SpecError(f"{kind!r} is not a type for batches: give a TypedDict, a dataclass or a NamedTuple")
        self._kind = kind
        self._names, self._needed = names, needed

    def check(self, tensors: Iterable[str]) -> None:
        """Raises SpecError if the type needs a tensor that a batch does not have."""
        there = list(tensors)
        missing = sorted(self._needed - set(there))
        if missing:
            raise SpecError(
                f"{self._kind.__name__} has the fields {', '.join(missing)}, but a batch has no such tensors; its tensors are"
                f" {', '.join(there)}"
            )

    def make(self, arrays: Mapping[str, Any]) -> T:
        """Returns the object with these arrays."""
        return self._kind(**{name: array for name, array in arrays.items() if name in self._names})
