/* rate_limit.c: see rate_limit.h. The table is searched: few users are in debt at a time. */
#include "daemon/net/rate_limit.h"

#include <stddef.h>

#define PRICE_NS (UINT64_C(1000000000) / LEAT_RATE_PER_SECOND)

/* The user's row, or else the row with the least debt, which is free if it is paid. */
static size_t find(const struct leat_rate_limit *limit, uid_t uid) {
    size_t least = 0;

    for (size_t i = 0; i < LEAT_RATE_USERS; i++) {
        const struct leat_rate_limit_user *user = &limit->users[i];

        if (user->paid_until_ns > 0 && user->uid == uid)
            return i;
        if (user->paid_until_ns < limit->users[least].paid_until_ns)
            least = i;
    }
    return least;
}

/* The most debt with which a connection is still allowed. */
static uint64_t debt_max_ns(uint64_t n_more) {
    return (LEAT_RATE_AT_ONCE + n_more - 1) * PRICE_NS;
}

uint64_t leat_rate_limit_next_ns(const struct leat_rate_limit *limit, uid_t uid, uint64_t n_more,
                                 uint64_t now_ns) {
    uint64_t paid_until_ns = limit->users[find(limit, uid)].paid_until_ns;

    return paid_until_ns > now_ns + debt_max_ns(n_more) ? paid_until_ns - debt_max_ns(n_more)
                                                        : now_ns;
}

enum leat_rate_answer leat_rate_limit_take(struct leat_rate_limit *limit, uid_t uid,
                                           uint64_t n_more, uint64_t now_ns) {
    struct leat_rate_limit_user *user = &limit->users[find(limit, uid)];

    if (user->uid != uid)
        user->told_ns = 0;
    user->uid = uid;
    if (user->paid_until_ns < now_ns)
        user->paid_until_ns = now_ns;
    if (user->paid_until_ns - now_ns <= debt_max_ns(n_more)) {
        user->paid_until_ns += PRICE_NS;
        return LEAT_RATE_ALLOWED;
    }
    if (user->told_ns > 0 && now_ns - user->told_ns < LEAT_RATE_EXPLAIN_NS)
        return LEAT_RATE_REFUSED;
    user->told_ns = now_ns;
    return LEAT_RATE_EXPLAINED;
}
