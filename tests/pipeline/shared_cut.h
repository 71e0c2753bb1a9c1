/* shared_cut.h: records of a text by the definition in cutter.h, and by cut() and index() over any
 * split of it; for the tests and fuzz targets that hold one against the other. */
#pragma once

#include "pipeline/cut/cutter.h"

struct cut_list {
    uint32_t *starts, *ends; /* in the text; room for one a byte */
    size_t n_records;
    uint64_t n_lines; /* LF that were gone over */
};

void cut_list_init(struct cut_list *list, size_t n_bytes);
void cut_list_deinit(struct cut_list *list);

/* One byte at a time, straight from the definition. Quadratic where records are cut off. */
void cut_by_definition(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                       struct cut_list *ret_list);

/* As a reader would: `piece_bytes[i % n_pieces]` more bytes each time, what cut() leaves is
 * carried. n_pieces 0: in one piece. */
void cut_in_pieces(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                   const size_t *piece_bytes, size_t n_pieces, struct cut_list *ret_list);

bool cut_lists_equal(const struct cut_list *a, const struct cut_list *b);
