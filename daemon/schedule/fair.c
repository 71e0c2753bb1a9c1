#include "daemon/schedule/fair.h"

static bool is_less(uint64_t a, uint64_t b) {
    return (int64_t)(a - b) < 0;
}

void leat_fair_enter(const struct leat_fair *fair, struct leat_fair_share *share) {
    if (is_less(share->tag, fair->now))
        share->tag = fair->now;
}

bool leat_fair_is_before(const struct leat_fair_share *a, const struct leat_fair_share *b) {
    return is_less(a->tag, b->tag);
}

uint64_t leat_fair_begin(struct leat_fair *fair, struct leat_fair_share *share,
                         uint64_t estimate_ns) {
    uint64_t charge = estimate_ns / share->weight;

    if (is_less(fair->now, share->tag))
        fair->now = share->tag;
    share->tag += charge;
    return charge;
}

void leat_fair_end(struct leat_fair_share *share, uint64_t charge, uint64_t taken_ns) {
    share->tag += taken_ns / share->weight;
    share->tag -= charge;
}
