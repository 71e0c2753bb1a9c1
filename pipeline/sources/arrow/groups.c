#include "pipeline/sources/arrow/groups.h"

#include <string.h>

#define PLACE_BITS 32

static bool is_at_stop(const struct leat_arrow_groups *groups) {
    return groups->stop > 0 && groups->row >= groups->stop;
}

static int make_rows(struct leat_arrow_groups *groups, const struct leat_arrow_maker *maker,
                     void *reader, uint64_t n_wanted, struct leat_error *err) {
    struct leat_arrow_room room = {.n_wanted = n_wanted,
                                   .n_rows = groups->stop ? groups->stop - groups->row : UINT64_MAX,
                                   .must = groups->row == groups->group_row};
    uint64_t n_rows = 0;
    int r;

    if (is_at_stop(groups))
        return LEAT_INPUT_HOLE;
    if (groups->n_group < LEAT_ARROW_GROUP_BYTES)
        room.n_bytes = LEAT_ARROW_GROUP_BYTES - groups->n_group;
    r = maker->make(reader, &room, &n_rows, err);
    if (r != 0)
        return r;
    if (n_rows == 0)
        return LEAT_INPUT_HOLE;
    groups->row += n_rows;
    groups->n_group += groups->rows->n_out;
    return 0;
}

static int make_header(struct leat_arrow_groups *groups, struct leat_error *err) {
    int r = leat_arrow_rows_make_header(groups->rows, err);

    groups->is_begun = true;
    groups->n_group = groups->rows->n_out;
    return r;
}

/* Puts more frames into `rows`: of n_wanted bytes at most, or one. 0, LEAT_INPUT_HOLE,
 * LEAT_INPUT_WAITING or LEAT_ARROW_END. */
static int make(struct leat_arrow_groups *groups, const struct leat_arrow_maker *maker,
                void *reader, uint64_t n_wanted, struct leat_error *err) {
    int r;

    groups->out_at = groups->rows->n_out = 0;
    r = maker->begin(reader, err);
    if (r == 0)
        r = groups->is_begun ? make_rows(groups, maker, reader, n_wanted, err)
                             : make_header(groups, err);
    if (r < 0)
        groups->rows->n_out = 0;
    return r;
}

int leat_arrow_groups_read(struct leat_arrow_groups *groups, const struct leat_arrow_maker *maker,
                           void *reader, void *data, size_t size, size_t *ret_n,
                           struct leat_error *err) {
    size_t n;
    int r;

    *ret_n = 0;
    while (groups->out_at == groups->rows->n_out && !groups->has_ended) {
        r = make(groups, maker, reader, groups->n_to_skip ? groups->n_to_skip : size, err);
        groups->has_ended = r == LEAT_ARROW_END;
        if (r != 0 && r != LEAT_ARROW_END)
            return r;
        n = groups->rows->n_out < groups->n_to_skip ? groups->rows->n_out
                                                    : (size_t)groups->n_to_skip;
        groups->out_at = n;
        groups->n_to_skip -= n;
    }
    n = groups->rows->n_out - groups->out_at;
    n = n < size ? n : size;
    if (n > 0)
        memcpy(data, groups->rows->out + groups->out_at, n);
    groups->out_at += n;
    *ret_n = n;
    return 0;
}

void leat_arrow_groups_go(struct leat_arrow_groups *groups, uint64_t place) {
    groups->row = groups->group_row = place >> PLACE_BITS;
    groups->n_to_skip = place & ((UINT64_C(1) << PLACE_BITS) - 1);
    groups->n_group = 0;
    groups->out_at = groups->rows->n_out = 0;
    groups->is_begun = groups->row > 0;
    groups->has_ended = false;
}

uint64_t leat_arrow_groups_cross(struct leat_arrow_groups *groups) {
    if (is_at_stop(groups)) {
        groups->stop = 0;
    } else {
        groups->group_row = groups->row;
        groups->n_group = 0;
    }
    return (groups->group_row << PLACE_BITS) + groups->n_group;
}
