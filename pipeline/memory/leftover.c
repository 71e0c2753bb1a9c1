#include "pipeline/memory/leftover.h"

#include <stdlib.h>

void leat_leftovers_add(struct leat_leftovers *leftovers, void *take_piece) {
    void **piece = take_piece;

    if (!piece)
        return;
    *piece = leftovers->first;
    leftovers->first = piece;
}

void leat_leftovers_free(struct leat_leftovers *leftovers) {
    while (leftovers->first) {
        void **piece = leftovers->first;

        leftovers->first = *piece;
        free(piece);
    }
}

void leat_leftovers_discharge(struct leat_leftovers *leftovers, struct leat_account *account) {
    for (int i = 0; i < LEAT_N_MEMORIES; i++) {
        leat_account_change(account, (enum leat_memory)i, leftovers->n_bytes[i], 0);
        leftovers->n_bytes[i] = 0;
    }
}
