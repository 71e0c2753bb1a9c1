"""Text to token ids and back.

tokenizer        the class Tokenizer
lengths          padding and truncation of a call
encoding, row    what a call returns, and what is known of the tokens of a row
files, names     tokenizer_config.json: which token is which; tokenizers as files
model_cache      models in the Hugging Face cache of this machine
model_tokenizer  what a pipeline has to know of a tokenizer
"""

from .tokenizer import Tokenizer as Tokenizer, path_of as path_of
