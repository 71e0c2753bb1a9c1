"""Text to token ids and back, like Hugging Face's fast tokenizers, over libleat-tokenizer.

Ids, offsets and type ids equal those of the package `tokenizers` on the same file. A call with many texts uses several threads.
In lists, equal ids are the same Python object. Arrays (`return_tensors`) are written without Python objects. leat never uses
the network.

Several threads, and forked children, may use one tokenizer.
"""

from __future__ import annotations

import json
import logging
import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

from .. import _leat, chats
from ..errors import NotFoundError, SpecError
from . import files, model_cache
from .encoding import (
    Encoding, array_framework, as_list, flat_array, framework_of, from_lists, make_array, restore, row_offsets,
)
from .lengths import TYPE_IDS, Inputs, Lengths, check_side
from .names import AddedToken, NamedId, NamedToken
from .row import Source

NO_LENGTH = int(1e30)  # model_max_length without a limit, as in transformers
# Models that tell the texts of a pair apart by type ids: the beginnings of their tokenizers' classes in transformers.
_WITH_TYPES = ("Bert", "Albert", "Electra", "Funnel", "XLNet", "MobileBert", "Deberta", "RemBert", "ConvBert", "SqueezeBert")
_CLEANED = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"),
    (" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)
_CHAT_OPTIONS = (  # tokenizer_kwargs of apply_chat_template
    "padding_side", "pad_to_multiple_of",
    "return_attention_mask", "return_token_type_ids", "return_special_tokens_mask", "return_offsets_mapping",
)
_logger = logging.getLogger("leat")


class Tokenizer:
    """The tokenizer of a model. Make one with from_file, from_pretrained, from_json or of."""

    bos_token, eos_token, unk_token = NamedToken(), NamedToken(), NamedToken()
    sep_token, pad_token, cls_token, mask_token = NamedToken(), NamedToken(), NamedToken(), NamedToken()
    bos_token_id, eos_token_id, unk_token_id = NamedId(), NamedId(), NamedId()
    sep_token_id, pad_token_id, cls_token_id, mask_token_id = NamedId(), NamedId(), NamedId(), NamedId()

    is_fast = True
    pad_token_type_id = 0

    def __init__(
        self,
        native: _leat.Tokenizer,
        *,
        path: Path | None = None,
        text: str | None = None,
        config: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        if not isinstance(native, _leat.Tokenizer):
            ways = "from_pretrained(path or name of a model), from_file(path) or from_json(text)"
            raise TypeError(f"make a leat.Tokenizer with leat.Tokenizer.{ways}, not from {native!r}")
        self.native = native
        self.path = path  # of its file; None: it has none
        self.name_or_path = str(path) if path else "the tokenizer"
        self.chat_template = chats.own_template(config)  # a Jinja text, several by name, or the name of one of leat's
        self._text = text
        self._config = dict(config)
        self._names = files.token_names(config, native)
        self._configure(config)
        self._warned = False

    def _configure(self, config: Mapping[str, Any]) -> None:
        self.padding_side = str(config.get("padding_side") or ("left" if self.native.pads_left else "right"))
        self.truncation_side = str(config.get("truncation_side") or ("left" if self.native.cuts_left else "right"))
        length = config.get("model_max_length")
        self.model_max_length = int(length) if isinstance(length, (int, float)) and length > 0 else NO_LENGTH
        self.clean_up_tokenization_spaces = bool(config.get("clean_up_tokenization_spaces", False))
        names = config.get("model_input_names")
        self.model_input_names = [str(name) for name in names] if isinstance(names, list) else self._usual_inputs(config)
        for name, value in (("padding_side", self.padding_side), ("truncation_side", self.truncation_side)):
            check_side(name, value)

    def _usual_inputs(self, config: Mapping[str, Any]) -> list[str]:
        kind = str(config.get("tokenizer_class") or "")
        has_types = kind.startswith(_WITH_TYPES) if kind else bool(self.cls_token and self.sep_token) and self._tells_apart()
        return ["input_ids", *(["token_type_ids"] if has_types else []), "attention_mask"]

    def _tells_apart(self) -> bool:
        pair = self.native.encode(["a"], ["a"], columns=TYPE_IDS)
        return any(pair.lists("token_type_ids")[0])

    # ---- loading and saving

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, threads: int = 0, **settings: Any) -> Tokenizer:
        """Loads a tokenizer.json, a vocab.txt (BERT), a vocab.json with a merges.txt in the same folder (GPT-2), or a folder
        with one of these.

        Also reads tokenizer_config.json in this folder. `settings` override this file (pad_token="<pad>",
        padding_side="left", model_max_length=512, ...). threads: the number of threads of a call; 0 means one for each CPU, but
        at most 8. Raises SpecError or NotFoundError.
        """
        place = Path(path).expanduser()
        native = _leat.Tokenizer(os.fspath(place), threads=threads)
        found = files.read_config(files.folder_of(place))
        named = {**found, **files.pad_name(native)}
        files.check_names(named, settings, native, place)
        config = {**files.usual_names(found, native), **named, **settings}
        return cls(native, path=place.absolute(), text=None, config=config)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | os.PathLike[str],
        *,
        revision: str = "main",
        cache_dir: str | os.PathLike[str] | None = None,
        threads: int = 0,
        **settings: Any,
    ) -> Tokenizer:
        """Loads a path (see from_file), or a model by its name from this machine's Hugging Face cache. It does not use the
        network.

        Raises NotFoundError if there is no such path or model. The message says how to get the model.
        """
        place = find(name_or_path, revision=revision, cache_dir=cache_dir)
        tokenizer = cls.from_file(place, threads=threads, **settings)
        tokenizer.name_or_path = os.fspath(name_or_path)
        return tokenizer

    @classmethod
    def from_json(cls, text: str | bytes, *, name: str = "tokenizer.json", threads: int = 0, **settings: Any) -> Tokenizer:
        """Loads the text of a tokenizer.json. Errors show `name`."""
        data = text.encode() if isinstance(text, str) else text
        native = _leat.Tokenizer(name, json=data, threads=threads)
        files.check_names({}, settings, native, Path(name))
        config = {**files.usual_names({}, native), **files.pad_name(native), **settings}
        return cls(native, path=None, text=data.decode("utf-8", "replace"), config=config)

    @classmethod
    def of(cls, tokenizer: Any) -> Tokenizer:
        """Returns a Tokenizer for a Tokenizer, a path, a name (see from_pretrained), a fast tokenizer of transformers, or a
        tokenizer of the package `tokenizers`."""
        if isinstance(tokenizer, Tokenizer):
            return tokenizer
        if isinstance(tokenizer, (str, os.PathLike)):
            return cls.from_pretrained(tokenizer)
        return cls.from_file(path_of(tokenizer))

    def __reduce__(self) -> tuple[Any, ...]:
        config = {**dict.fromkeys(files.TOKEN_NAMES), **self.config}
        own = (config, self.native.n_threads, self.name_or_path, self.chat_template)
        return _restore, (type(self), self.path, self._text, *own)

    def __repr__(self) -> str:
        return f"Tokenizer({self.name_or_path!r}, vocab_size={self.vocab_size}, {self._names})"

    @property
    def config(self) -> dict[str, Any]:
        """The content of the tokenizer_config.json that save_pretrained() writes."""
        own = {
            "padding_side": self.padding_side,
            "truncation_side": self.truncation_side,
            "model_max_length": self.model_max_length,
            "model_input_names": self.model_input_names,
            "clean_up_tokenization_spaces": self.clean_up_tokenization_spaces,
        }
        unnamed = {name for name in files.TOKEN_NAMES if name not in self._names}
        return {**{name: value for name, value in self._config.items() if name not in unnamed}, **own, **self._names}

    def save_pretrained(self, save_directory: str | os.PathLike[str], **unused: Any) -> tuple[str, ...]:
        """Writes the tokenizer and its settings, for from_pretrained() and transformers. Returns the paths."""
        return tuple(files.save(Path(save_directory), self.path, self._text, self.config))

    # ---- text to ids

    def __call__(
        self,
        text: str | Sequence[Any] | None = None,
        text_pair: str | Sequence[Any] | None = None,
        text_target: str | Sequence[Any] | None = None,
        *,
        add_special_tokens: bool = True,
        padding: bool | str = False,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: str | None = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        split_special_tokens: bool = False,
        verbose: bool = True,
    ) -> Encoding:
        """Encodes a text, a pair of texts, or a list of texts or pairs. Arguments and defaults are the same as in transformers.

        Returns input_ids, attention_mask and, if the model uses them, token_type_ids. Each is a list of int, or a list of
        lists for a list of texts. With return_tensors each is an array [texts, longest], int64 for "np" and "pt", and int32 for
        "jax" and "mlx". offset_mapping then has the shape [texts, longest, 2].

        padding: True or "longest", or "max_length".
        truncation: True or "longest_first", "only_first", "only_second". If you give only max_length, texts are also truncated.
        return_overflowing_tokens: the rest of a truncated text makes further rows. overflow_to_sample_mapping has, for each
            row, the number of its text.
        text_target: texts whose ids become `labels`.
        is_split_into_words: True means that each text is a list of words. Offsets then count within a word.
        Raises SpecError (a ValueError) if the arguments do not fit together.
        """
        asked = Lengths(self, padding, truncation, max_length, pad_to_multiple_of, padding_side)
        wanted = self._wanted(return_attention_mask, return_token_type_ids, return_special_tokens_mask, return_offsets_mapping)
        framework = framework_of(return_tensors) if return_tensors is not None else None

        def run(text: str | Sequence[Any], pair: str | Sequence[Any] | None) -> Encoding:
            inputs, is_batch = (_words_of if is_split_into_words else _texts_of)(text, pair)
            encodings = asked.encode(
                inputs, wanted, stride, return_overflowing_tokens, add_special_tokens, split_special_tokens
            )
            self._warn_of_length(encodings.longest, asked, verbose)
            encoding = self._collect(encodings, wanted, asked, framework, is_batch or return_overflowing_tokens)
            encoding._source = Source(
                asked, inputs, stride, add_special_tokens, split_special_tokens, return_overflowing_tokens
            )
            if return_length:
                _add_rows(encoding, "length", [max(n, asked.width(encodings)) for n in encodings.lengths()], framework)
            if return_overflowing_tokens:
                _add_rows(encoding, "overflow_to_sample_mapping", encodings.inputs(), framework)
            return encoding

        if text is None and text_target is None:
            raise SpecError("give a text or a text_target")
        if text is None:
            assert text_target is not None
            return run(text_target, None)
        encoding = run(text, text_pair)
        if text_target is not None:
            encoding["labels"] = run(text_target, None)["input_ids"]
        return encoding

    def _wanted(self, attention: bool | None, types: bool | None, special: bool, offsets: bool) -> list[str]:
        """The wanted columns, in the order of transformers."""
        names = {
            "token_type_ids": "token_type_ids" in self.model_input_names if types is None else types,
            "attention_mask": "attention_mask" in self.model_input_names if attention is None else attention,
            "special_tokens_mask": special,
            "offset_mapping": offsets,
        }
        return ["input_ids", *(name for name, is_wanted in names.items() if is_wanted)]

    def _collect(
        self, encodings: _leat.Encodings, wanted: list[str], asked: Lengths, framework: str | None, is_batch: bool
    ) -> Encoding:
        encoding = Encoding()
        encoding._tokenizer = self
        width = asked.width(encodings)
        if framework and not width and len(set(lengths := encodings.lengths())) > 1:
            between = f"{min(lengths)} to {max(lengths)}"
            hint = "give padding=True, and truncation=True with a max_length"
            raise SpecError(f"the texts have {between} tokens, so they cannot be one array: {hint}")
        for name in wanted:
            fill = self._fill_of(name)
            if framework:
                encoding[name] = make_array(framework, encodings, name, max(width, encodings.longest), fill, asked.pads_left)
            else:
                rows = encodings.lists(name, width, fill, asked.pads_left)
                encoding[name] = rows if is_batch else rows[0]
        return encoding

    def _fill_of(self, column: str) -> int:
        pad = self.pad_token_id or 0
        fills = {"input_ids": pad, "tokens": pad, "token_type_ids": self.pad_token_type_id, "special_tokens_mask": 1}
        return fills.get(column, 0)

    def _warn_of_length(self, longest: int, asked: Lengths, verbose: bool) -> None:
        if verbose and not self._warned and asked.max_length is None and longest > self.model_max_length:
            self._warned = True
            text = "a text has %d tokens, but the model takes at most %d: give truncation=True"
            _logger.warning(text, longest, self.model_max_length)

    def flat(
        self,
        text: Sequence[Any],
        text_pair: Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        return_token_type_ids: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        split_special_tokens: bool = False,
        verbose: bool = True,
    ) -> Encoding:
        """Returns the tokens of several texts, one after the other and without padding, as int32 arrays of NumPy.
        `row_offsets`, int64 [texts + 1], has the start of each text and the end of the last text. Arguments are those of
        __call__.

        Row i is input_ids[row_offsets[i]:row_offsets[i + 1]]. offset_mapping has the shape [tokens, 2]. This is the fastest way
        to get ids.
        """
        asked = Lengths(self, False, truncation, max_length, None, None)
        wanted = self._wanted(False, return_token_type_ids, return_special_tokens_mask, return_offsets_mapping)
        inputs, _ = _texts_of([text] if isinstance(text, str) else text, text_pair)
        encodings = asked.encode(inputs, wanted, 0, False, add_special_tokens, split_special_tokens)
        self._warn_of_length(encodings.longest, asked, verbose)
        encoding = Encoding({name: flat_array(encodings, name) for name in wanted}, row_offsets=row_offsets(encodings))
        encoding._tokenizer = self
        encoding._source = Source(asked, inputs, 0, add_special_tokens, split_special_tokens, False)
        return encoding

    def encode(self, text: str, text_pair: str | None = None, **options: Any) -> Any:
        """Returns the ids of a text or of a pair, as a call with the same options does."""
        return self(text, text_pair, **options)["input_ids"]

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **options: Any
    ) -> list[str]:
        """Returns the tokens of a text as strings, as Encoding.tokens() does."""
        return self(text, pair, add_special_tokens=add_special_tokens, **options).tokens()

    # ---- chats

    def get_chat_template(self, chat_template: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Returns the template that apply_chat_template() uses: a Jinja text, or the name of one of leat's templates."""
        return chats.find_template(chat_template, self.chat_template, tools is not None)

    def _chat_tokens(self) -> dict[str, str]:
        """The special tokens that a Jinja template may read, including those with names that only this model has."""
        spelt = {name: files.spelling(token) for name, token in self._config.items() if name.endswith("_token")}
        return {**{name: token for name, token in spelt.items() if token is not None}, **self.special_tokens_map}

    def apply_chat_template(
        self,
        conversation: Sequence[Any],
        chat_template: str | None = None,
        *,
        add_generation_prompt: bool = False,
        tokenize: bool = True,
        padding: bool | str = False,
        truncation: bool = False,
        max_length: int | None = None,
        return_tensors: str | None = None,
        return_dict: bool = True,
        return_assistant_tokens_mask: bool = False,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Any] | None = None,
        bos: str | None = None,
        eos: str | None = None,
        system: str | None = None,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
        **variables: Any,
    ) -> Any:
        """Encodes a conversation [{"role": ..., "content": ...}, ...], or a list of conversations, as the stage `chat` does.

        chat_template: a Jinja text, the name of one of the model's templates, or one of leat.chats.TEMPLATES (default:
            `tokenizer.chat_template`, which is the model's own unless you set it).
        tools: JSON schemas of functions, for a Jinja template.
        documents, variables: further variables of a Jinja template.
        bos, eos, system: as in the stage `chat`.
        tokenize: False returns the text instead of ids.
        return_dict: False returns the ids alone.
        return_assistant_tokens_mask: True adds `assistant_masks`, which are 1 for tokens of the assistant and 0 for others.
        tokenizer_kwargs: padding_side, pad_to_multiple_of, return_attention_mask and similar options.
        """
        template = self.get_chat_template(chat_template, tools)
        is_batch = chats.is_batch(conversation)
        talks = list(conversation if is_batch else [conversation])
        if template in chats.TEMPLATES:
            given = {"tools": tools, "documents": documents, **variables}
            unread = next((name for name, value in given.items() if value is not None), None)
            if unread:
                raise SpecError(f"leave out {unread}: it is only for Jinja templates, but {template} is one of leat's own templates")
            pages = [
                chats.write(one, template, bos=bos, eos=eos, system=system, add_generation_prompt=add_generation_prompt)
                for one in talks
            ]
        else:
            if refused := [name for name in ("continue_final_message", "sanitize_control_tokens") if variables.get(name)]:
                raise SpecError(f"{refused[0]} is not supported")
            named = {"bos_token": bos, "eos_token": eos}
            given = {
                **self._chat_tokens(),
                **{name: token for name, token in named.items() if token is not None},
                "tools": tools,
                "documents": documents,
                "add_generation_prompt": add_generation_prompt,
                **variables,
            }
            pages, has_marks = chats.render(talks, template, given, system)
            if return_assistant_tokens_mask and not has_marks:
                hint = "give a template that does, or one of leat.chats.TEMPLATES"
                raise SpecError(f"the chat template does not mark the assistant's text with {{% generation %}}: {hint}")
        if not tokenize:
            return [text for text, _ in pages] if is_batch else pages[0][0]
        if return_assistant_tokens_mask and not return_dict:
            raise SpecError("return_assistant_tokens_mask needs return_dict=True")
        options = dict.fromkeys(_CHAT_OPTIONS) | dict(tokenizer_kwargs or {})
        if len(options) > len(_CHAT_OPTIONS):
            unknown = ", ".join(map(repr, list(options)[len(_CHAT_OPTIONS) :]))
            raise SpecError(f"tokenizer_kwargs has no option {unknown}; the options are {', '.join(_CHAT_OPTIONS)}")
        side, multiple_of, attention, types, special, offsets = (options[name] for name in _CHAT_OPTIONS)
        asked = Lengths(self, padding, truncation, max_length, multiple_of, side)
        wanted = self._wanted(attention, types, bool(special), bool(offsets))
        wanted += ["assistant_masks"] if return_assistant_tokens_mask else []
        marks = [parts for _, parts in pages] if return_assistant_tokens_mask else None
        inputs = Inputs([text for text, _ in pages], marks=marks)
        encodings = asked.encode(inputs, wanted, 0, False, False, False)
        encoding = self._collect(encodings, wanted, asked, framework_of(return_tensors) if return_tensors else None, is_batch)
        encoding._source = Source(asked, inputs._replace(marks=None), 0, False, False, False)
        return encoding if return_dict else encoding["input_ids"]

    # ---- ids to text

    def decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **unused: Any,
    ) -> Any:
        """Returns the text of ids (an int, a list, an array, an Encoding). For a list of lists, or an array [rows, n], it
        returns a list of texts."""
        ids = as_list(token_ids["input_ids"] if isinstance(token_ids, Mapping) else token_ids)
        if isinstance(ids, int):
            ids = [ids]
        if ids and isinstance(ids[0], (list, tuple)):
            return [self.decode(row, skip_special_tokens, clean_up_tokenization_spaces) for row in ids]
        text = self.native.decode(ids, skip_special_tokens)
        cleans = self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
        for one, other in _CLEANED if cleans and not self._is_bpe else ():
            text = text.replace(one, other)
        return text

    def batch_decode(
        self,
        sequences: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **unused: Any,
    ) -> list[str]:
        """Returns the texts of several rows of ids."""
        texts = self.decode(sequences, skip_special_tokens, clean_up_tokenization_spaces)
        return [texts] if isinstance(texts, str) else texts

    @property
    def _is_bpe(self) -> bool:
        return "model: BPE" in self.native.describe()

    # ---- tokens

    @overload
    def convert_tokens_to_ids(self, tokens: str) -> int | None: ...

    @overload
    def convert_tokens_to_ids(self, tokens: list[str] | tuple[str, ...]) -> list[int | None]: ...

    def convert_tokens_to_ids(self, tokens: str | list[str] | tuple[str, ...]) -> int | None | list[int | None]:
        """Returns the id of a token, or of each token in a list. Unknown tokens have the id of unk_token."""
        if not isinstance(tokens, str):
            return [self.convert_tokens_to_ids(token) for token in tokens]
        id = self.native.id(tokens)
        return self.unk_token_id if id is None else id

    @overload
    def convert_ids_to_tokens(self, ids: int, skip_special_tokens: bool = False) -> str | None: ...

    @overload
    def convert_ids_to_tokens(self, ids: Iterable[int], skip_special_tokens: bool = False) -> list[str | None]: ...

    def convert_ids_to_tokens(
        self, ids: int | Iterable[int], skip_special_tokens: bool = False
    ) -> str | None | list[str | None]:
        """Returns the spelling of an id, or of each id in a list. It is None if there is no token with this id."""
        if isinstance(ids, int):
            return self.native.token(ids)
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return [self.native.token(id) for id in as_list(ids) if id not in skipped]

    def convert_tokens_to_string(self, tokens: Iterable[str]) -> str:
        """Joins tokens to a text. The tokens need not belong to this tokenizer."""
        return self.native.join(tokens)

    def _id_of(self, token: str) -> int:
        id = self.native.id(token)
        if id is None:
            raise NotFoundError(f"there is no token {token!r} in {self.name_or_path}")
        return id

    def _token_of(self, id: int) -> str:
        token = self.native.token(id)
        if token is None:
            raise NotFoundError(f"there is no token with the id {id} in {self.name_or_path}")
        return token

    @property
    def vocab_size(self) -> int:
        """The number of tokens without added tokens. len(tokenizer) counts all tokens."""
        return self.native.n_tokens(False)

    def __len__(self) -> int:
        return self.native.n_tokens(True)

    def __bool__(self) -> bool:
        return True

    def get_vocab(self) -> dict[str, int]:
        """Returns all tokens and their ids."""
        return self.native.vocab(False)

    @property
    def vocab(self) -> dict[str, int]:
        return self.get_vocab()

    def get_added_vocab(self) -> dict[str, int]:
        """Returns the added tokens and their ids."""
        return self.native.vocab(True)

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """A dict of ids to the added tokens, with their options."""
        added = sorted((id, token) for token, id in self.get_added_vocab().items())
        return {id: AddedToken(token, *flags) for id, token in added if (flags := self.native.added(id)) is not None}

    @property
    def added_tokens_encoder(self) -> dict[str, int]:
        """A dict of added tokens to their ids, in the order of the ids."""
        return {token.content: id for id, token in self.added_tokens_decoder.items()}

    @property
    def special_tokens_map(self) -> dict[str, str]:
        """A dict of names (pad_token, eos_token, ...) to tokens, in the order of transformers."""
        return {name: self._names[name] for name in files.TOKEN_NAMES if name in self._names}

    @property
    def extra_special_tokens(self) -> list[str]:
        """The special tokens without a name in tokenizer_config.json."""
        extra = self._config.get("extra_special_tokens") or self._config.get("additional_special_tokens") or []
        spelt = [files.spelling(token) for token in (extra if isinstance(extra, list) else [])]
        return [token for token in spelt if token is not None and self.native.id(token) is not None]

    @property
    def all_special_tokens(self) -> list[str]:
        return list(dict.fromkeys([*self.special_tokens_map.values(), *self.extra_special_tokens]))

    @property
    def all_special_ids(self) -> list[int]:
        return [self._id_of(token) for token in self.all_special_tokens]

    def add_special_tokens(self, special_tokens_dict: Mapping[str, Any]) -> int:
        """Gives names to existing tokens, for example {"pad_token": "<pad>"}. Returns 0, because it adds no tokens."""
        for name, token in special_tokens_dict.items():
            if name not in files.TOKEN_NAMES:
                raise SpecError(f"{name!r} is not one of {', '.join(files.TOKEN_NAMES)}")
            setattr(self, name, token)
        return 0

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Returns the number of special tokens that a call adds to a text or a pair."""
        return self.native.n_added(pair)

    def get_special_tokens_mask(
        self, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Returns 1 for each id of a special token, and 0 for the others. The ids must already include the special tokens."""
        if not already_has_special_tokens or token_ids_1 is not None:
            raise SpecError(
                "get_special_tokens_mask() needs ids that already have special tokens: give already_has_special_tokens=True and "
                "no second list"
            )
        special = set(self.all_special_ids)
        return [int(id in special) for id in as_list(token_ids_0)]

    # ---- padding

    def pad(
        self,
        encoded_inputs: Any,
        padding: bool | str = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: str | None = None,
        verbose: bool = True,
    ) -> Encoding:
        """Pads encoded texts, for collators. The texts are a mapping of lists, or a list of mappings.

        Pads input_ids, attention_mask, token_type_ids and special_tokens_mask. Without return_tensors, lists stay lists, and
        arrays stay arrays of the same framework.
        """
        if isinstance(encoded_inputs, (list, tuple)) and encoded_inputs and isinstance(encoded_inputs[0], Mapping):
            encoded_inputs = {name: [one[name] for one in encoded_inputs] for name in encoded_inputs[0]}
        columns = {name: as_list(value) for name, value in encoded_inputs.items()}
        if "input_ids" not in columns:
            raise SpecError(f"pad() needs input_ids, but you gave only {list(columns)}")
        return_tensors = return_tensors or array_framework(encoded_inputs["input_ids"])
        is_batch = bool(columns["input_ids"]) and isinstance(columns["input_ids"][0], (list, tuple))
        if not is_batch:
            columns = {name: [value] for name, value in columns.items()}
        asked = Lengths(self, padding, False, max_length, pad_to_multiple_of, padding_side)
        if return_attention_mask is None:
            return_attention_mask = "attention_mask" in self.model_input_names
        if return_attention_mask and "attention_mask" not in columns:
            columns["attention_mask"] = [[1] * len(row) for row in columns["input_ids"]]
        padded = self._pad_columns(columns, asked)
        encoding = restore({name: value if is_batch else value[0] for name, value in padded.items()}, self)
        return encoding.convert_to_tensors(return_tensors) if return_tensors else encoding

    def _pad_columns(self, columns: dict[str, list[Any]], asked: Lengths) -> dict[str, list[Any]]:
        width = asked.width_of(max(map(len, columns["input_ids"]), default=0))
        for name in ("input_ids", "attention_mask", "token_type_ids", "special_tokens_mask"):
            if name in columns:
                columns[name] = [_pad_row(row, width, self._fill_of(name), asked.pads_left) for row in columns[name]]
        return columns


def _texts_of(text: Any, pair: Any) -> tuple[Inputs, bool]:
    """Returns the texts with their pairs, and True if the caller gave a list."""
    if isinstance(text, str):
        if pair is not None and not isinstance(pair, str):
            raise SpecError(f"text_pair of one text must be a str, not {type(pair).__name__}")
        return Inputs([text], [pair] if pair else None), False
    if isinstance(text, (bytes, bytearray)) or not isinstance(text, Iterable):
        raise SpecError(f"text must be a str or a list of str, not {type(text).__name__}")
    if isinstance(pair, str):
        raise SpecError("for a list of texts, text_pair must be a list with one text for each, not a str")
    texts = text if isinstance(text, (list, tuple)) else as_list(text) if hasattr(text, "tolist") else list(text)
    if pair is None and texts and isinstance(texts[0], (list, tuple)):
        if any(not isinstance(one, (list, tuple)) or len(one) != 2 for one in texts):
            raise SpecError("texts must be str or pairs of str; for lists of words, give is_split_into_words=True")
        return Inputs([one for one, _ in texts], [other for _, other in texts]), True
    return Inputs(tuple(texts), pair), True


def _words_of(text: Any, pair: Any) -> tuple[Inputs, bool]:
    """Like _texts_of(), for texts that are lists of words."""
    if not isinstance(text, (list, tuple)):
        raise SpecError(f"with is_split_into_words, text must be a list of words, not {type(text).__name__}")
    is_batch = bool(text) and isinstance(text[0], (list, tuple))
    rows: Sequence[Any] = text if is_batch else [text]
    pairs: Sequence[Any] | None = None if not pair else pair if is_batch else [pair]
    if pairs is None and any(row and isinstance(row[0], (list, tuple)) for row in rows):
        rows, pairs = [row[0] for row in rows], [row[1] for row in rows]
    texts, words = zip(*map(_joined, rows)) if rows else ((), ())
    others, pair_words = zip(*map(_joined, pairs)) if pairs else (None, None)
    return Inputs(texts, others, words, pair_words), is_batch


def _joined(words: Any) -> tuple[str, bytes]:
    """Joins the words. Also returns where each word ends in the text, in bytes of UTF-8."""
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words):
        raise SpecError(f"{str(words)[:80]!r} must be a list of words, and each word must be a str")
    return "".join(words), array("I", accumulate(len(word.encode()) for word in words)).tobytes()


def _add_rows(encoding: Encoding, name: str, numbers: list[int], framework: str | None) -> None:
    encoding[name] = from_lists(numbers, framework, name) if framework else numbers


def _pad_row(row: list[int], width: int, fill: int, pads_left: bool) -> list[int]:
    padding = [fill] * (width - len(row))
    return padding + list(row) if pads_left else list(row) + padding


def _restore(
    kind: type[Tokenizer],
    path: Path | None,
    text: str | None,
    config: dict[str, Any],
    threads: int,
    name: str,
    template: str | dict[str, str] | None,
) -> Tokenizer:
    if path is not None:
        tokenizer = kind.from_file(path, threads=threads, **config)
    else:
        tokenizer = kind.from_json(text or "", threads=threads, **config)
    tokenizer.name_or_path, tokenizer.chat_template = name, template
    return tokenizer


def find(
    name_or_path: str | os.PathLike[str], *, revision: str = "main", cache_dir: str | os.PathLike[str] | None = None
) -> Path:
    """Returns the given path, if it exists. Otherwise it returns the path of a model in the Hugging Face cache."""
    place = Path(name_or_path).expanduser()
    if place.exists():
        return place
    if not model_cache.is_name(os.fspath(name_or_path)):
        raise NotFoundError(f"there is no file or folder {os.fspath(name_or_path)!r}")
    return model_cache.find_tokenizer(os.fspath(name_or_path), revision, cache_dir)


def path_of(tokenizer: Any) -> str:
    """The absolute path of any tokenizer (see Tokenizer.of), for the stage `tokenize`. If the tokenizer has no file, leat
    writes one below $XDG_CACHE_HOME/leat/tokenizers, without the truncation and padding of its last call.
    """
    if isinstance(tokenizer, (str, os.PathLike)):
        return str(find(tokenizer).absolute())
    if isinstance(tokenizer, Tokenizer):
        if tokenizer.pad_token_id not in (None, tokenizer.native.pad_id):
            return str(files.cached(_with_own_padding(tokenizer), tokenizer.config))
        if tokenizer.path is not None:
            return str(tokenizer.path)
        return str(files.cached(tokenizer._text or "", tokenizer.config))
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "to_str"):
        kinds = "a path, a name, a leat.Tokenizer or a fast tokenizer of transformers"
        raise SpecError(f"{type(tokenizer).__name__} is not a tokenizer: give {kinds}")
    content = json.loads(backend.to_str())
    content["truncation"] = content["padding"] = None
    return str(files.cached(json.dumps(content, ensure_ascii=False), _config_of(tokenizer)))


def _with_own_padding(tokenizer: Tokenizer) -> str:
    """Returns the text of the tokenizer.json without padding, because the program has set pad_token to another token."""
    text, path = tokenizer._text, tokenizer.path
    if text is None and path is not None:
        file = path / "tokenizer.json" if path.is_dir() else path
        if file.suffix != ".json" or file.name == "vocab.json" or not file.exists():
            raise SpecError(
                f"cannot change the pad token of {path}, because it is not a tokenizer.json: give the pad token in the "
                f"pipeline, pad(.., value={tokenizer.pad_token!r})"
            )
        text = file.read_text(encoding="utf-8")
    content = json.loads(text or "{}")
    content["padding"] = None
    return json.dumps(content, ensure_ascii=False)


def _config_of(tokenizer: Any) -> dict[str, Any]:
    """Returns the settings of a tokenizer of transformers, or the padding of a tokenizer of the package `tokenizers`."""
    if not hasattr(tokenizer, "backend_tokenizer"):
        padding = getattr(tokenizer, "padding", None)
        if not padding:
            return {}
        is_known = tokenizer.token_to_id(padding["pad_token"]) is not None
        return {"padding_side": padding["direction"], **({"pad_token": padding["pad_token"]} if is_known else {})}
    names = ("padding_side", "truncation_side", "model_max_length", "model_input_names", "clean_up_tokenization_spaces")
    config = {name: getattr(tokenizer, name) for name in names}
    template = getattr(tokenizer, "chat_template", None)
    return {**config, **tokenizer.special_tokens_map, **({"chat_template": template} if isinstance(template, str) else {})}
