/* control/quota.c: the verb quota: what each user has taken of the daemon, and how much it may. */
#include <errno.h>

#include "daemon/control/control.h"
#include "daemon/core/daemon.h"

static Leat__Charge *describe_charge(enum leat_charge charge, uint64_t used, uint64_t limit,
                                     struct leat_arena *arena) {
    Leat__Charge *message = leat_arena_alloc(arena, sizeof(*message));

    if (!message)
        return NULL;
    leat__charge__init(message);
    message->name = (char *)(uintptr_t)leat_charge_name(charge);
    message->used = used;
    message->limit = limit;
    return message;
}

static int describe_charges(const uint64_t used[LEAT_N_CHARGES],
                            const uint64_t limits[LEAT_N_CHARGES], Leat__Charge ***ret_charges,
                            struct leat_arena *arena) {
    Leat__Charge **charges = leat_arena_alloc(arena, LEAT_N_CHARGES * sizeof(*charges));

    if (!charges)
        return -ENOMEM;
    for (int i = 0; i < LEAT_N_CHARGES; i++) {
        charges[i] = describe_charge((enum leat_charge)i, used[i], limits[i], arena);
        if (!charges[i])
            return -ENOMEM;
    }
    *ret_charges = charges;
    return 0;
}

static Leat__UserQuota *describe_user(const struct leat_user *user, struct leat_arena *arena) {
    Leat__UserQuota *message = leat_arena_alloc(arena, sizeof(*message));

    if (!message)
        return NULL;
    leat__user_quota__init(message);
    message->uid = user->uid;
    message->weight = user->tasks.share.weight;
    message->worker_ns = user->tasks.worker_ns;
    message->n_refused = user->n_refused;
    message->n_charges = LEAT_N_CHARGES;
    return describe_charges(user->used, user->users->limits.user, &message->charges, arena) < 0
               ? NULL
               : message;
}

static int describe_users(const struct leat_users *users, Leat__QuotaReply *message,
                          struct leat_arena *arena) {
    size_t n = 0;

    for (const struct leat_user *user = users->first; user; user = user->next)
        n++;
    message->users = leat_arena_alloc(arena, n * sizeof(*message->users));
    if (!message->users)
        return -ENOMEM;
    for (const struct leat_user *user = users->first; user; user = user->next) {
        message->users[message->n_users] = describe_user(user, arena);
        if (!message->users[message->n_users++])
            return -ENOMEM;
    }
    return 0;
}

void leat_control_quota(struct leat_control *control, const Leat__ControlRequest *request,
                        struct leat_arena *arena) {
    const struct leat_users *users = &control->daemon->users;
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__QuotaReply quota = LEAT__QUOTA_REPLY__INIT;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)request;
    quota.n_totals = LEAT_N_CHARGES;
    if (describe_charges(users->used, users->limits.total, &quota.totals, arena) < 0 ||
        describe_users(users, &quota, arena) < 0) {
        leat_error_oom(&err);
        leat_control_fail(control, &err);
        return;
    }
    reply.verb_case = LEAT__CONTROL_REPLY__VERB_QUOTA;
    reply.quota = &quota;
    leat_control_reply(control, &reply);
}
