/* tokenizer_internal.h: what a tokenizer is made of. Inside the library only; tokenizer.h is for
 * users.
 */
#pragma once

#include "pipeline/tokenizer/added/added_tokens.h"
#include "pipeline/tokenizer/decode/decoder.h"
#include "pipeline/tokenizer/model/model.h"
#include "pipeline/tokenizer/normalize/normalizer.h"
#include "pipeline/tokenizer/post/post.h"
#include "pipeline/tokenizer/split/splitter.h"
#include "pipeline/tokenizer/tokenizer.h"

/* Immutable once loaded: any thread. */
struct leat_tokenizer {
    struct leat_normalizer *normalizer;
    struct leat_splitter *splitter;
    struct leat_model *model;
    struct leat_post *post;
    struct leat_decoder *decoder;
    struct leat_added_tokens added;
    struct leat_truncation truncation;
    struct leat_padding padding;
    int32_t pad_id;
    size_t file_bytes;
    double load_seconds;
};
