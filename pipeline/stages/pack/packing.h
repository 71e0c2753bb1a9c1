/* pack/packing.h: which documents come together in a row (pack), on references. Owner: the run.
 *
 * concat: documents as they come. A row is closed when it is full, or when the next document does
 * not fit; with `splits` the document is cut there and goes on in the next row.
 *
 * first_fit, best_fit: when a window of documents is there, they are taken from long to short (of
 * equal ones in the order in which they came) and each goes into the first row with room, or into
 * the one that then has the least room left; of several such, the one that was filled last. Rows
 * leave in the order of their first documents, in which documents stand as they came. With `splits`
 * a longer document first leaves as many full rows as it has, at once; the rest goes with the
 * others.
 *
 * Documents without elements are left out.
 */
#pragma once

#include "pipeline/stages/pack/fit.h"
#include "pipeline/stages/shared_parts.h"

enum leat_packing_how { LEAT_PACK_CONCAT, LEAT_PACK_FIRST_FIT, LEAT_PACK_BEST_FIT };

struct leat_packing {
    enum leat_packing_how how;
    uint32_t column; /* whose lists have the lengths of documents */
    uint32_t length, window;
    bool splits;
};

struct leat_packer {
    const struct leat_packing *packing;
    struct leat_ref *refs; /* [n_refs]: of the open row, or of the window; each has a length */
    size_t capacity;
    uint32_t n_refs;
    uint32_t n_elements; /* of the open row */
    struct leat_fit *fit;
    uint32_t *order, *rows, *firsts; /* [window] each, for packing it */
};

int leat_packer_start(struct leat_packer *packer, const struct leat_packing *packing,
                      struct leat_error *err);
/* The functions of struct leat_stage_ops, whose state is a packer. */
int leat_packer_push(const struct leat_config *config, void *state, struct leat_ref ref,
                     struct leat_order_sink *down, struct leat_error *err);
int leat_packer_finish(const struct leat_config *config, void *state, struct leat_order_sink *down,
                       struct leat_error *err);
void leat_packer_stop(const struct leat_config *config, void *state);
uint64_t leat_packer_bytes(const void *state);

/* Waiting rows and bytes, at most. */
void leat_packing_holds(const struct leat_packing *packing, uint64_t *ret_rows,
                        uint64_t *ret_bytes);
