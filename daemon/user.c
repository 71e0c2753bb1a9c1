/* user.c: accounts in a list; there are as many as users that are connected, which is few. */
#include "daemon/user.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* How a limit is called in messages: what it counts, and the settings' keys. */
static const struct {
    const char *noun;
    const char *user_key;
    const char *total_key;
} charge_names[LEAT_N_CHARGES] = {
    [LEAT_CHARGE_SESSIONS] = {"sessions", "max_user_sessions", "max_sessions"},
    [LEAT_CHARGE_RING_BYTES] = {"bytes of shared memory", "max_user_ring_bytes", "max_ring_bytes"},
    [LEAT_CHARGE_STREAMS] = {"streams of trainers' own", "max_user_streams", "max_streams"},
    [LEAT_CHARGE_CONTROLS] = {"control connections", "(fixed)", "(fixed)"},
};

void leat_users_init(struct leat_users *users, const struct leat_limits *limits) {
    *users = (struct leat_users){.limits = *limits};
}

void leat_users_deinit(struct leat_users *users) {
    assert(!users->first);
    for (int i = 0; i < LEAT_N_CHARGES; i++)
        assert(users->used[i] == 0);
    (void)users;
}

struct leat_user *leat_users_get(struct leat_users *users, uid_t uid) {
    struct leat_user *user;

    for (user = users->first; user; user = user->next)
        if (user->uid == uid)
            return leat_user_ref(user);
    user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    *user = (struct leat_user){.users = users, .next = users->first, .uid = uid, .n_refs = 1};
    users->first = user;
    return user;
}

struct leat_user *leat_user_ref(struct leat_user *user) {
    user->n_refs++;
    return user;
}

struct leat_user *leat_user_unref(struct leat_user *user) {
    struct leat_user **link;

    if (!user || --user->n_refs > 0)
        return NULL;
    for (int i = 0; i < LEAT_N_CHARGES; i++)
        assert(user->used[i] == 0);
    for (link = &user->users->first; *link != user; link = &(*link)->next)
        ;
    *link = user->next;
    free(user);
    return NULL;
}

static int refuse(struct leat_users *users, struct leat_error *err, enum leat_charge charge,
                  uint64_t amount, uint64_t used, uint64_t limit, const char *who,
                  const char *key) {
    users->n_refused++;
    return leat_error_set(err, -EDQUOT,
                          "%s %llu %s; %llu more would be over the limit of %llu (%s)", who,
                          (unsigned long long)used, charge_names[charge].noun,
                          (unsigned long long)amount, (unsigned long long)limit, key);
}

int leat_user_charge(struct leat_user *user, enum leat_charge charge, uint64_t amount,
                     struct leat_error *err) {
    struct leat_users *users = user->users;
    uint64_t user_limit = users->limits.user[charge], total_limit = users->limits.total[charge];

    if (user->used[charge] > user_limit || amount > user_limit - user->used[charge])
        return refuse(users, err, charge, amount, user->used[charge], user_limit, "this user has",
                      charge_names[charge].user_key);
    if (users->used[charge] > total_limit || amount > total_limit - users->used[charge])
        return refuse(users, err, charge, amount, users->used[charge], total_limit,
                      "all users together have", charge_names[charge].total_key);
    user->used[charge] += amount;
    users->used[charge] += amount;
    return 0;
}

void leat_user_discharge(struct leat_user *user, enum leat_charge charge, uint64_t amount) {
    assert(user->used[charge] >= amount && user->users->used[charge] >= amount);
    user->used[charge] -= amount;
    user->users->used[charge] -= amount;
}
