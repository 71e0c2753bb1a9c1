/* fair.h: whose turn it is, where several share something by weights, in pieces of a size that
 * shows only when they end. Pure.
 *
 * Start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996). Each share has a tag, its virtual
 * time: what it has used over its weight. The share with the least tag is served next. Virtual time
 * as such is the tag of the share served last. A share that comes back after having wanted nothing
 * starts there: it neither pays for past use nor is repaid what it left to others.
 *
 * The use over weight of two shares that always want something differs by no more than what both
 * have in use at once, whatever the others do: test_fair.c. A piece is charged with an estimate
 * when it begins, and with what it took when it ends. Tags are compared as serial numbers, so that
 * they may overflow. Owner: loop.
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

/* The share wants something again. */
void leat_fair_enter(const struct leat_fair *fair, struct leat_fair_share *share);
/* True if it is a's turn before b's. */
bool leat_fair_is_before(const struct leat_fair_share *a, const struct leat_fair_share *b);
/* The share is served. Returns the charge, which leat_fair_end() corrects. */
uint64_t leat_fair_begin(struct leat_fair *fair, struct leat_fair_share *share,
                         uint64_t estimate_ns);
/* The weight may have changed in between. */
void leat_fair_end(struct leat_fair_share *share, uint64_t charge, uint64_t taken_ns);
