/* pieces.h: the words of texts with their ids, as a worker keeps them.
 *
 * A text is cut where no token crosses (cuts.h), and each piece goes through a cache of words: the
 * texts of records repeat most of theirs. Owner: the job.
 */
#pragma once

#include "pipeline/tokenizer/chartrie/chartrie.h"
#include "pipeline/tokenizer/model/word_cache.h"

#define LEAT_CHARTRIE_WINDOW 4096

/* Of the cache. */
#define LEAT_CHARTRIE_SLOTS_MIN      (UINT64_C(1) << 12)
#define LEAT_CHARTRIE_SLOTS_MAX      (UINT64_C(1) << 15)
#define LEAT_CHARTRIE_LONG_BYTES_MIN (UINT64_C(1) << 14)
#define LEAT_CHARTRIE_LONG_BYTES_MAX (UINT64_C(1) << 17)

struct leat_chartrie_pieces {
    struct leat_word_cache cache;
    struct leat_error ignored;
    uint8_t text[LEAT_CHARTRIE_WINDOW + LEAT_TEXT_PADDING];
};
