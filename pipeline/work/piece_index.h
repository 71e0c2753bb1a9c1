/* piece_index.h: a piece of the source, read again, with the places of its records. */
#pragma once

#include "pipeline/work/scan.h"

struct leat_piece_index {
    struct leat_buffer buffer; /* the bytes of the piece */
    uint32_t *starts, *ends;   /* [n_records of the span]: of each record in the bytes */
};

/* Reads and cuts the piece. Blocks. -ESTALE: the file has changed. The result is deinitialized in
 * any case. */
int leat_piece_index_read(struct leat_piece_index *index, const struct leat_plan *plan,
                          const struct leat_opener *opener, const struct leat_cache_span *span,
                          struct leat_error *err);
void leat_piece_index_deinit(struct leat_piece_index *index);
