/* fair.h: whose turn it is, where several share by weights what they use in pieces that nobody can
 * tell beforehand. Pure.
 *
 * Start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996). Who uses has a tag, its own virtual
 * time: what it has used over its weight. The least tag is next. Virtual time as such is the tag of
 * who was served last; who comes back after having wanted nothing starts there: it neither pays for
 * what it used before, nor does it get back what it left to others.
 *
 * Of two that always want something, what they have used over their weights differs by no more than
 * what they have in use at once, whatever the others do: test_fair.c. A piece is charged with an
 * estimate when it begins, and with what it took when it ends. Tags are compared as serial numbers,
 * so that they may overflow. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEAT_FAIR_WEIGHT_MAX 1000

struct leat_fair {
    uint64_t now; /* virtual */
};

struct leat_fair_share {
    uint64_t tag;
    uint32_t weight; /* 1..LEAT_FAIR_WEIGHT_MAX */
};

/* It wants something, and had nothing to wait for before. */
void leat_fair_enter(const struct leat_fair *fair, struct leat_fair_share *share);
/* Whether a's turn is before b's. */
bool leat_fair_is_before(const struct leat_fair_share *a, const struct leat_fair_share *b);
/* It is served with something that may take so long. Returns what it is charged with. */
uint64_t leat_fair_begin(struct leat_fair *fair, struct leat_fair_share *share,
                         uint64_t estimate_ns);
/* And took so long; its weight may be another one now. */
void leat_fair_end(struct leat_fair_share *share, uint64_t charge, uint64_t taken_ns);
