"""Text to token ids and back.

tokenizer        the class Tokenizer
lengths          padding and truncation of a call
encoding, row    the result of a call, and the tokens of a row
files, names     tokenizer_config.json, which names special tokens; tokenizers as files
model_cache      models in the Hugging Face cache of this machine
model_tokenizer  the settings of a tokenizer that a pipeline needs
"""

from .tokenizer import Tokenizer as Tokenizer, path_of as path_of
