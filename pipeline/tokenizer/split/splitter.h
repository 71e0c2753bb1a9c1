/* splitter.h: the `pre_tokenizer` of a tokenizer.json: a text to words.
 *
 * All types of Hugging Face `tokenizers` 0.23: BertPreTokenizer, ByteLevel, CharDelimiterSplit
 * (also `Delimiter`), Digits, FixedLength, Metaspace, Punctuation, Split (String and Regex, all
 * behaviors, invert), UnicodeScripts, Whitespace, WhitespaceSplit, Sequence. The component tree is
 * brought to a canonical form and looked up among the known grammars, which have scanners of their
 * own; anything else runs step by step, its regexes on PCRE2 with classes rewritten to the right
 * Unicode tables, or is refused with the reason.
 *
 * Words come in order and do not overlap; what lies between them is dropped. No word is empty.
 *
 * GPT-2's byte alphabet: where a ByteLevel is the last step that changes or cuts the text (and the
 * only one), its map is not carried out: the words are plain bytes, and leat_splitter_is_byte_level
 * says that they stand for the mapped characters. So it is where only digits are cut after it, as
 * in Falcon; then a word may begin or end inside of a character. Everywhere else the map is carried
 * out.
 *
 * A splitter is immutable: any thread. A context is one job's memory.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/text.h"

struct leat_splitter;
struct leat_splitter_context;

/* component: NULL for none: the whole text is one word. */
int leat_splitter_new(const struct leat_component *component, struct leat_splitter **ret_splitter,
                      struct leat_error *err);
struct leat_splitter *leat_splitter_free(struct leat_splitter *splitter);

/* True if words are raw bytes that stand for characters of GPT-2's alphabet. */
bool leat_splitter_is_byte_level(const struct leat_splitter *splitter);

int leat_splitter_context_new(const struct leat_splitter *splitter,
                              struct leat_splitter_context **ret_context);
struct leat_splitter_context *leat_splitter_context_free(struct leat_splitter_context *context);

/* Starts on a text, which must stay until the last word is taken. starts_document: the text's first
 * byte is the first of the document (Metaspace's `first`). 0, -ENOMEM, -E2BIG, or -EINVAL where a
 * regex of the file exceeds its limits. */
int leat_splitter_begin(const struct leat_splitter *splitter, struct leat_splitter_context *context,
                        const struct leat_text_view *source, bool starts_document,
                        struct leat_error *err);

/* The text that the words are ranges of: the source, or a rewriting of it that lies in the context
 * until the next begin. Padded and with origins like the source. */
const struct leat_text_view *leat_splitter_text(const struct leat_splitter_context *context);

/* The next words, n_max (1..) at most; 0: there are no more. Scanners cut as they are asked, so
 * that memory for words is the caller's choice. */
size_t leat_splitter_next(const struct leat_splitter *splitter,
                          struct leat_splitter_context *context, struct leat_range *words,
                          size_t n_max);

/* Names its grammar and the code that runs it: "GPT-2 grammar, own scanner". */
const char *leat_splitter_describe(const struct leat_splitter *splitter);
size_t leat_splitter_n_bytes(const struct leat_splitter *splitter); /* of memory */
