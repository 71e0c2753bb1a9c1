"""The attributes pad_token, eos_token_id, ... of a tokenizer. All read one table of names and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import SpecError

if TYPE_CHECKING:
    from .tokenizer import Tokenizer


class AddedToken(NamedTuple):
    """A token that was added to the vocabulary, with its options. leat looks for it in the text before it splits the text into
    words."""

    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool

    def __str__(self) -> str:
        return self.content


class NamedToken:
    """pad_token, eos_token, ...: the token with this name, or None. You can set it to an existing token."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, tokenizer: Tokenizer | None, owner: type) -> str | None:
        return tokenizer._names.get(self.name) if tokenizer is not None else None

    def __set__(self, tokenizer: Tokenizer, token: Any) -> None:
        if token is None:
            tokenizer._names.pop(self.name, None)
            return
        token = getattr(token, "content", token)
        if not isinstance(token, str):
            raise SpecError(f"{self.name} is {token!r}, but it must be a str")
        if tokenizer.native.id(token) is None:
            where = f"in {tokenizer.name_or_path}; you cannot add new tokens here"
            raise SpecError(f"cannot set {self.name}: there is no token {token!r} {where}")
        tokenizer._names[self.name] = token


class NamedId:
    """pad_token_id, eos_token_id, ...: the id of the token with this name, or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.removesuffix("_id")

    def __get__(self, tokenizer: Tokenizer | None, owner: type) -> int | None:
        token = tokenizer._names.get(self.name) if tokenizer is not None else None
        return tokenizer.native.id(token) if tokenizer is not None and token is not None else None

    def __set__(self, tokenizer: Tokenizer, id: int | None) -> None:
        setattr(tokenizer, self.name, None if id is None else tokenizer._token_of(id))
