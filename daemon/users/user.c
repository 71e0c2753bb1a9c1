/* user.c: see user.h. The accounts are in a list: few users are connected at a time. */
#include "daemon/users/user.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* The name of a charge in replies and messages, and the keys of its limits in the settings. */
static const struct {
    const char *name, *noun;
    const char *user_key;
    const char *total_key;
} charge_names[LEAT_N_CHARGES] = {
    [LEAT_CHARGE_SESSIONS] = {"sessions", "sessions", "max_user_sessions", "max_sessions"},
    [LEAT_CHARGE_RING_BYTES] = {"ring_bytes", "bytes of shared memory", "max_user_ring_bytes",
                                "max_ring_bytes"},
    [LEAT_CHARGE_STREAMS] = {"streams", "streams described by trainers", "max_user_streams",
                             "max_streams"},
    [LEAT_CHARGE_CONTROLS] = {"controls", "control connections", "(fixed)", "(fixed)"},
};

void leat_users_init(struct leat_users *users, const struct leat_limits *limits,
                     struct leat_budget *budget) {
    *users = (struct leat_users){.limits = *limits, .budget = budget};
}

void leat_users_deinit(struct leat_users *users) {
    assert(!users->first);
    for (int i = 0; i < LEAT_N_CHARGES; i++)
        assert(users->used[i] == 0);
    (void)users;
}

const char *leat_charge_name(enum leat_charge charge) {
    return charge_names[charge].name;
}

static uint32_t weight_of(const struct leat_users *users, uid_t uid) {
    for (size_t i = 0; i < users->n_weights; i++)
        if (users->weights[i].uid == uid)
            return users->weights[i].weight;
    return 1;
}

void leat_users_set_weights(struct leat_users *users, const struct leat_weight *weights,
                            size_t n_weights) {
    users->weights = weights;
    users->n_weights = n_weights;
    for (struct leat_user *user = users->first; user; user = user->next)
        user->tasks.share.weight = weight_of(users, user->uid);
}

static void keep_debt(struct leat_users *users, const struct leat_user *user) {
    if (user->looking_ns == 0)
        return;
    users->debts[users->next_debt] =
        (struct leat_debt){user->uid, user->looking_ns, user->looked_at_ns};
    users->next_debt = (users->next_debt + 1) % LEAT_USERS_MAX_DEBTS;
}

static void take_debt(struct leat_users *users, struct leat_user *user) {
    for (size_t i = 0; i < LEAT_USERS_MAX_DEBTS; i++) {
        struct leat_debt *debt = &users->debts[i];

        if (debt->looking_ns == 0 || debt->uid != user->uid)
            continue;
        user->looking_ns = debt->looking_ns;
        user->looked_at_ns = debt->looked_at_ns;
        debt->looking_ns = 0;
    }
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
    leat_budget_user_init(&user->memory, users->budget);
    leat_task_user_init(&user->tasks, weight_of(users, uid));
    leat_task_queue_init(&user->queue, &user->tasks);
    users->first = user;
    take_debt(users, user);
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
    assert(user->memory.n_present == 0);
    keep_debt(user->users, user);
    leat_task_user_deinit(&user->tasks);
    for (link = &user->users->first; *link != user; link = &(*link)->next)
        ;
    *link = user->next;
    free(user);
    return NULL;
}

void leat_user_count_refusal(struct leat_user *user) {
    user->users->n_refused++;
    user->n_refused++;
}

static int refuse(struct leat_user *user, struct leat_error *err, enum leat_charge charge,
                  uint64_t amount, uint64_t used, uint64_t limit, const char *who,
                  const char *key) {
    leat_user_count_refusal(user);
    return leat_error_set(err, -EDQUOT,
                          "%s %llu %s, and %llu more would exceed the limit of %llu (%s)", who,
                          (unsigned long long)used, charge_names[charge].noun,
                          (unsigned long long)amount, (unsigned long long)limit, key);
}

static int refuse_share(struct leat_user *user, struct leat_error *err, enum leat_charge charge,
                        uint64_t amount, uint64_t left) {
    leat_user_count_refusal(user);
    return leat_error_set(
        err, -EDQUOT,
        "this user has %llu %s and needs %llu more. Only %llu of %llu (%s) would then be left for "
        "other users. To allow this, set %s to the value of %s",
        (unsigned long long)user->used[charge], charge_names[charge].noun,
        (unsigned long long)amount, (unsigned long long)(left - amount),
        (unsigned long long)user->users->limits.total[charge], charge_names[charge].total_key,
        charge_names[charge].user_key, charge_names[charge].total_key);
}

int leat_user_charge(struct leat_user *user, enum leat_charge charge, uint64_t amount,
                     struct leat_error *err) {
    struct leat_users *users = user->users;
    uint64_t user_limit = users->limits.user[charge], total_limit = users->limits.total[charge];
    uint64_t left;

    if (user->used[charge] > user_limit || amount > user_limit - user->used[charge])
        return refuse(user, err, charge, amount, user->used[charge], user_limit, "this user has",
                      charge_names[charge].user_key);
    if (users->used[charge] > total_limit || amount > total_limit - users->used[charge])
        return refuse(user, err, charge, amount, users->used[charge], total_limit,
                      "all users together have", charge_names[charge].total_key);
    left = total_limit - users->used[charge];
    if (users->limits.is_shared[charge] && user->used[charge] + amount > left - amount + 1)
        return refuse_share(user, err, charge, amount, left);
    user->used[charge] += amount;
    users->used[charge] += amount;
    return 0;
}

void leat_user_discharge(struct leat_user *user, enum leat_charge charge, uint64_t amount) {
    assert(user->used[charge] >= amount && user->users->used[charge] >= amount);
    user->used[charge] -= amount;
    user->users->used[charge] -= amount;
}
