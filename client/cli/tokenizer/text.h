/* text.h: a part of the help of all commands of tokenizers. */
#pragma once

#define TOKENIZER_TEXT                                                                             \
    "TOKENIZER is a tokenizer.json, a vocab.txt, a vocab.json with a merges.txt in the same\n"     \
    "folder, or the folder of one of these.\n\n"
