#include "client/stream/cursor.h"

#include "proto/position.h"

void leat_cursor_init(struct leat_cursor *cursor, uint32_t rank, uint32_t world_size) {
    *cursor = (struct leat_cursor){.rank = rank, .world_size = world_size};
}

/* The first step of the rank at or after that step. */
static uint64_t first_step_of_rank(const struct leat_cursor *cursor, uint64_t step) {
    uint64_t rest = step % cursor->world_size;

    return step +
           (cursor->rank >= rest ? cursor->rank - rest : cursor->world_size - rest + cursor->rank);
}

void leat_cursor_move(struct leat_cursor *cursor, uint64_t epoch, uint64_t step) {
    cursor->epoch = cursor->first_epoch = epoch;
    cursor->first_step = step;
    cursor->step = first_step_of_rank(cursor, step);
    cursor->n_taken = 0;
}

bool leat_cursor_is_at(const struct leat_cursor *cursor, uint64_t epoch, uint64_t step) {
    return cursor->epoch == epoch && cursor->step == first_step_of_rank(cursor, step);
}

void leat_cursor_next_epoch(struct leat_cursor *cursor) {
    cursor->epoch++;
    cursor->step = cursor->rank;
}

uint64_t leat_cursor_round(const struct leat_cursor *cursor) {
    uint64_t first = cursor->epoch == cursor->first_epoch ? cursor->first_step : 0;

    return leat_position_round(cursor->step, first, cursor->world_size);
}

bool leat_cursor_has_whole_rounds(const struct leat_cursor *cursor) {
    return cursor->epoch != cursor->first_epoch || cursor->first_step % cursor->world_size == 0;
}
