/* control/quota.c: the verb quota: what each user has taken of the daemon, and its limits. */
#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"

#define N_CHARGES (LEAT_N_CHARGES + 1) /* and memory */

static void describe_charge(const char *name, uint64_t used, uint64_t limit,
                            Leat__Charge *message) {
    message->name = (char *)(uintptr_t)name;
    message->used = used;
    message->limit = limit;
}

static int describe_charges(const uint64_t used[LEAT_N_CHARGES],
                            const uint64_t limits[LEAT_N_CHARGES], uint64_t memory_used,
                            uint64_t memory_limit, Leat__Charge ***ret_charges,
                            struct leat_arena *arena) {
    Leat__Charge **charges = leat_control_messages(arena, &leat__charge__descriptor, N_CHARGES);

    *ret_charges = charges;
    if (!charges)
        return -ENOMEM;
    for (int i = 0; i < LEAT_N_CHARGES; i++)
        describe_charge(leat_charge_name((enum leat_charge)i), used[i], limits[i], charges[i]);
    describe_charge("memory", memory_used, memory_limit, charges[LEAT_N_CHARGES]);
    return 0;
}

static int describe_user(const struct leat_user *user, Leat__UserQuota *message,
                         struct leat_arena *arena) {
    message->uid = user->uid;
    message->weight = user->tasks.share.weight;
    message->worker_ns = user->tasks.worker_ns;
    message->n_refused = user->n_refused;
    message->memory_in_use = user->memory.used_bytes;
    message->n_charges = N_CHARGES;
    return describe_charges(user->used, user->users->limits.user, user->memory.claimed_bytes,
                            leat_budget_user_limit(&user->memory), &message->charges, arena);
}

static int describe_users(const struct leat_users *users, Leat__QuotaReply *message,
                          struct leat_arena *arena) {
    size_t n = 0;

    for (const struct leat_user *user = users->first; user; user = user->next)
        n++;
    message->users = leat_control_messages(arena, &leat__user_quota__descriptor, n);
    if (!message->users)
        return -ENOMEM;
    for (const struct leat_user *user = users->first; user; user = user->next)
        if (describe_user(user, message->users[message->n_users++], arena) < 0)
            return -ENOMEM;
    return 0;
}

void leat_control_quota(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    const struct leat_users *users = control->controls->env->users;
    Leat__QuotaReply quota = LEAT__QUOTA_REPLY__INIT;
    int r;

    (void)request;
    quota.n_totals = N_CHARGES;
    quota.memory_in_use = users->budget->used_bytes;
    r = describe_charges(users->used, users->limits.total, users->budget->claimed_bytes,
                         users->budget->limit_bytes, &quota.totals, arena);
    if (r == 0)
        r = describe_users(users, &quota, arena);
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_QUOTA, r < 0 ? NULL : &quota);
}
