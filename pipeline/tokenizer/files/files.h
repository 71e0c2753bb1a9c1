/* files.h: a tokenizer as people have it: reads what is at a path, and makes of it the text of a
 * tokenizer.json.
 *
 *     a directory          tokenizer.json, else vocab.json with merges.txt, else vocab.txt
 *     ...vocab.json,       byte-level BPE as ByteLevelBPETokenizer of Hugging Face `tokenizers`
 *     ...merges.txt        makes it (GPT-2), with the other one beside it; <|endoftext|> is special
 *     other ....txt        one token a line: WordPiece as BertWordPieceTokenizer makes it
 *     anything else        a tokenizer.json
 *
 * tokenizer_config.json beside these files gives the padding token; for vocab files also do_lower_
 * case, strip_accents, tokenize_chinese_chars and add_prefix_space. Errors name the user's own
 * file.
 *
 * Owner: the thread that loads.
 */
#pragma once

#include "pipeline/tokenizer/reader.h"

struct leat_tokenizer_files {
    char *json; /* of a tokenizer.json, terminated */
    size_t n;
    char *file;      /* the file that it comes from, for errors */
    char *pad_token; /* of tokenizer_config.json, terminated; or NULL */
};

/* reader NULL: plain files. 0 or a negative errno with err set; -ENOENT: there is no tokenizer at
 * that path. ret_files counts only if 0 is returned. */
int leat_tokenizer_files_read(const char *path, const struct leat_tokenizer_reader *reader,
                              struct leat_tokenizer_files *ret_files, struct leat_error *err);
void leat_tokenizer_files_deinit(struct leat_tokenizer_files *files); /* of zeroed ones too */
