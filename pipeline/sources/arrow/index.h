/* index.h: where the record batches of a file are and which rows they have, as far as was needed.
 * Also which dictionaries a batch uses: in a stream the last one of its id in front of the batch
 * and the deltas behind that, in a file with a footer all of them.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/array.h"
#include "pipeline/sources/arrow/stream.h"

#define LEAT_ARROW_BATCHES_MAX (UINT32_C(1) << 24)

struct leat_arrow_batch_entry {
    uint64_t at;                        /* of its message */
    uint32_t first_row, n_dictionaries; /* that stand in front of it */
};

struct leat_arrow_dictionary_entry {
    uint64_t at;
    int64_t id;
    bool is_delta;
};

struct leat_arrow_index {
    struct leat_arrow_batch_entry *batches;
    uint32_t n_batches, n_dictionaries;
    size_t batches_capacity, dictionaries_capacity;
    struct leat_arrow_dictionary_entry *dictionaries;
    uint64_t at;     /* of the first message not indexed; with a footer: its block */
    uint64_t n_rows; /* so far */
    bool is_begun, is_complete;
};

void leat_arrow_index_deinit(struct leat_arrow_index *index);
size_t leat_arrow_index_memory(const struct leat_arrow_index *index);

/* Makes the batch with that row the current message of the stream, and loads its dictionaries. A
 * stream that cannot seek goes forward only. 0, LEAT_INPUT_WAITING, LEAT_ARROW_END: there is no
 * such row, -errno. */
int leat_arrow_index_find(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                          struct leat_arrow_dictionaries *dictionaries, uint64_t row,
                          uint64_t *ret_first_row, struct leat_error *err);
