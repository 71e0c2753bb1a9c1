/* door.c: see door.h. The table is searched: few users are in debt at a time. */
#include "daemon/net/door.h"

#include <stddef.h>

#define PRICE_NS (UINT64_C(1000000000) / LEAT_DOOR_PER_SECOND)

/* The user's row, or else the row with the least debt, which is free if it is paid. */
static size_t find(const struct leat_door *door, uid_t uid) {
    size_t least = 0;

    for (size_t i = 0; i < LEAT_DOOR_USERS; i++) {
        const struct leat_door_user *user = &door->users[i];

        if (user->paid_until_ns > 0 && user->uid == uid)
            return i;
        if (user->paid_until_ns < door->users[least].paid_until_ns)
            least = i;
    }
    return least;
}

/* The debt with which the last connection of the stock is made. */
static uint64_t debt_max_ns(uint64_t n_more) {
    return (LEAT_DOOR_AT_ONCE + n_more - 1) * PRICE_NS;
}

uint64_t leat_door_opens_ns(const struct leat_door *door, uid_t uid, uint64_t n_more,
                            uint64_t now_ns) {
    uint64_t paid_until_ns = door->users[find(door, uid)].paid_until_ns;

    return paid_until_ns > now_ns + debt_max_ns(n_more) ? paid_until_ns - debt_max_ns(n_more)
                                                        : now_ns;
}

enum leat_door_answer leat_door_knock(struct leat_door *door, uid_t uid, uint64_t n_more,
                                      uint64_t now_ns) {
    struct leat_door_user *user = &door->users[find(door, uid)];

    if (user->uid != uid)
        user->told_ns = 0;
    user->uid = uid;
    if (user->paid_until_ns < now_ns)
        user->paid_until_ns = now_ns;
    if (user->paid_until_ns - now_ns <= debt_max_ns(n_more)) {
        user->paid_until_ns += PRICE_NS;
        return LEAT_DOOR_OPEN;
    }
    if (user->told_ns > 0 && now_ns - user->told_ns < LEAT_DOOR_TELL_NS)
        return LEAT_DOOR_SHUT;
    user->told_ns = now_ns;
    return LEAT_DOOR_TELL;
}
