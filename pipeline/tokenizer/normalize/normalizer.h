/* normalizer.h: the `normalizer` of a tokenizer.json: text to text.
 *
 * All types of Hugging Face `tokenizers` 0.23: BertNormalizer (also `Bert`), Strip, StripAccents,
 * NFC, NFD, NFKC, NFKD, Lowercase, Nmt, Precompiled, Replace (String and Regex), Prepend,
 * ByteLevel, Sequence. Adjacent steps may be fused; a text that no step changes is handed back as
 * it is, without a copy.
 *
 * A normalizer is immutable: any thread. A context is one job's memory.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/text.h"

struct leat_normalizer;
struct leat_normalizer_context;

/* component: NULL for none, which changes nothing. */
int leat_normalizer_new(const struct leat_component *component,
                        struct leat_normalizer **ret_normalizer, struct leat_error *err);
struct leat_normalizer *leat_normalizer_free(struct leat_normalizer *normalizer);

/* NULL: memory ran out. */
struct leat_normalizer_context *leat_normalizer_context_new(void);
struct leat_normalizer_context *
leat_normalizer_context_free(struct leat_normalizer_context *context);

/* Normalizes a text; the result is the source itself or lies in the context until the next call.
 * Origins are carried along if the source has them. 0, -ENOMEM, -E2BIG. */
int leat_normalizer_run(const struct leat_normalizer *normalizer,
                        struct leat_normalizer_context *context,
                        const struct leat_text_view *source, struct leat_text_view *ret_text,
                        struct leat_error *err);

/* Describes its parts for people: "NFC", "Replace \" \" by \"▁\", Prepend \"▁\"". */
const char *leat_normalizer_describe(const struct leat_normalizer *normalizer);
size_t leat_normalizer_n_bytes(const struct leat_normalizer *normalizer); /* of memory */
