/* text.h: what the commands of tokenizers have in common in their help. */
#pragma once

#define TOKENIZER_TEXT                                                                             \
    "TOKENIZER is a tokenizer.json, a vocab.txt, a vocab.json beside its merges.txt, or the "      \
    "folder of one.\n\n"
