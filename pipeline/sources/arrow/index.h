/* index.h: where the record batches of a file are, and which rows they have; it is found out as far
 * as it is needed. Also which dictionaries hold for a batch: in a stream the last one of its number
 * in front of it with the deltas behind that, in a file with a footer all that there are.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/dictionary.h"
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
    uint32_t n_batches;
    struct leat_arrow_dictionary_entry *dictionaries;
    uint32_t n_dictionaries;
    uint64_t at; /* of the next message that was not looked at; a file with a footer: which block */
    uint64_t n_rows; /* so far */
    bool is_begun, is_complete;
};

void leat_arrow_index_deinit(struct leat_arrow_index *index);
size_t leat_arrow_index_memory(const struct leat_arrow_index *index);

/* Makes the batch with that row, of the file, the message of the stream, with its dictionaries.
 * What cannot jump goes forward only. 0, LEAT_INPUT_WAITING, LEAT_ARROW_END: there is no such row,
 * -errno. */
int leat_arrow_index_find(struct leat_arrow_index *index, struct leat_arrow_stream *stream,
                          struct leat_arrow_dictionaries *dictionaries, uint64_t row,
                          uint64_t *ret_first_row, struct leat_error *err);
