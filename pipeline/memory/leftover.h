/* leftover.h: memory that its owner has done with and that is given back to the system later, by
 * any one thread: for much of it that takes the system a while. It stays counted until then.
 */
#pragma once

#include "pipeline/memory/budget.h"

struct leat_leftovers {
    void *first;                       /* each begins with a pointer to the next */
    uint64_t n_bytes[LEAT_N_MEMORIES]; /* counted in an account */
};

/* A piece from malloc() with room for a pointer; NULL: nothing happens. */
void leat_leftovers_add(struct leat_leftovers *leftovers, void *take_piece);
/* Gives all of it back to the system. Any thread, as nobody else has it. */
void leat_leftovers_free(struct leat_leftovers *leftovers);
/* Takes what was freed out of the account. Of the account's thread. */
void leat_leftovers_discharge(struct leat_leftovers *leftovers, struct leat_account *account);
