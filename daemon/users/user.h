/* user.h: what each user (a client's uid) has taken of the daemon, and how much it may take.
 *
 * The constructor of an object takes a charge, and its destructor gives it back. An account lives
 * as long as anything refers to it, and must be empty then. Each charge has a limit for one user
 * and one for all together, which protects the machine. Of what is shared, no user may take more
 * than is then left for others, as in dbus-broker: the first user can have half, the next half of
 * the rest, and so on.
 *
 * A user's share of the workers follows its weight (scheduler.h); its part of the memory: budget.h.
 * Owner: loop.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "daemon/schedule/scheduler.h"
#include "pipeline/memory/budget.h"
#include "proto/base/error.h"

enum leat_charge {
    LEAT_CHARGE_SESSIONS,   /* connections of trainers, until their slots are free again */
    LEAT_CHARGE_RING_BYTES, /* shared memory, quarantined slots included */
    LEAT_CHARGE_STREAMS,    /* open streams that the trainer itself described */
    LEAT_CHARGE_CONTROLS,   /* connections to the control socket */
    LEAT_N_CHARGES,
};

struct leat_limits {
    uint64_t user[LEAT_N_CHARGES];
    uint64_t total[LEAT_N_CHARGES];
    bool is_shared[LEAT_N_CHARGES]; /* no user may have more than is left for others */
};

/* The weight of a user's tasks; users that are not listed have 1. */
struct leat_weight {
    uid_t uid;
    uint32_t weight; /* 1..LEAT_FAIR_WEIGHT_MAX */
};

/* A user without open connections still owes this. Connecting again does not cancel it. */
#define LEAT_USERS_MAX_DEBTS 64
struct leat_debt {
    uid_t uid;
    uint64_t looking_ns, looked_at_ns;
};

struct leat_users {
    struct leat_limits limits;
    struct leat_budget *budget;        /* of all memory */
    const struct leat_weight *weights; /* outlive this, or the next call of set_weights */
    size_t n_weights;
    uint64_t used[LEAT_N_CHARGES];
    uint64_t n_refused; /* charges that a limit refused */
    struct leat_user *first;
    struct leat_debt debts[LEAT_USERS_MAX_DEBTS];
    size_t next_debt; /* the oldest, which is replaced next */
};

struct leat_user {
    struct leat_users *users;
    struct leat_user *next;
    uid_t uid;
    uint32_t n_refs;
    uint64_t used[LEAT_N_CHARGES];
    uint64_t looking_ns, looked_at_ns; /* see control/pace.h */
    uint64_t n_refused;
    struct leat_budget_user memory; /* its part */
    struct leat_task_user tasks;
    struct leat_task_queue queue; /* of those that belong to no run */
};

void leat_users_init(struct leat_users *users, const struct leat_limits *limits,
                     struct leat_budget *budget);
void leat_users_deinit(struct leat_users *users);

/* In force from now on, for connected users too. */
void leat_users_set_weights(struct leat_users *users, const struct leat_weight *weights,
                            size_t n_weights);

/* The name of a charge in replies: "sessions", "ring_bytes". */
const char *leat_charge_name(enum leat_charge charge);

/* The account of that uid, a reference, made if necessary; NULL without memory. */
struct leat_user *leat_users_get(struct leat_users *users, uid_t uid);
struct leat_user *leat_user_ref(struct leat_user *user);
struct leat_user *leat_user_unref(struct leat_user *user);

/* Takes `amount`; or takes nothing, and the error names the limit (-EDQUOT). */
int leat_user_charge(struct leat_user *user, enum leat_charge charge, uint64_t amount,
                     struct leat_error *err);
/* Counts a request of the user for which there was no memory. */
void leat_user_count_refusal(struct leat_user *user);
void leat_user_discharge(struct leat_user *user, enum leat_charge charge, uint64_t amount);
