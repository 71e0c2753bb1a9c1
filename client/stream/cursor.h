/* cursor.h: the position of a stream. Pure; owner: the stream.
 *
 * A rank sees the steps congruent to it modulo world_size. A round is world_size steps, one for
 * each rank; rounds are counted from the step at which the epoch was begun.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct leat_cursor {
    uint64_t epoch, step; /* of the batch after the last one that was returned */
    uint32_t rank, world_size;
    uint64_t first_epoch, first_step; /* where the stream was opened, or was moved to */
    uint64_t n_taken;                 /* batches since then */
};

void leat_cursor_init(struct leat_cursor *cursor, uint32_t rank, uint32_t world_size);
/* Moves to the rank's first step at or after `step`; nothing was taken yet. */
void leat_cursor_move(struct leat_cursor *cursor, uint64_t epoch, uint64_t step);
/* True if it is where leat_cursor_move() would move it. */
bool leat_cursor_is_at(const struct leat_cursor *cursor, uint64_t epoch, uint64_t step);
/* True if the rank's next batch may be that one: the daemon may leave steps out. */
static inline bool leat_cursor_expects(const struct leat_cursor *cursor, uint64_t epoch,
                                       uint64_t step) {
    return epoch == cursor->epoch && step >= cursor->step &&
           (step - cursor->step) % cursor->world_size == 0;
}
static inline void leat_cursor_take(struct leat_cursor *cursor, uint64_t step) {
    cursor->n_taken++;
    cursor->step = step + cursor->world_size;
}
void leat_cursor_next_epoch(struct leat_cursor *cursor);

/* The first step of the present round: a session from there gets the same steps as without a new
 * opening. */
uint64_t leat_cursor_round(const struct leat_cursor *cursor);
/* True if the epoch has the same rounds, and so the same end, as one that is read from its start.
 */
bool leat_cursor_has_whole_rounds(const struct leat_cursor *cursor);
