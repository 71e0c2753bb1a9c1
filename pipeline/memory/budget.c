#include "pipeline/memory/budget.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define HEADROOM 8  /* so large a part of the budget is left for streams to come */
#define EXCESS   20 /* accounts that cannot go on without may exceed it by this part */

#define LEAST_PARTS 2 /* one user alone leaves a half to the next */

const char *leat_memory_name(enum leat_memory memory) {
    static const char *const names[LEAT_N_MEMORIES] = {
        [LEAT_MEMORY_PROCESS] = "process", [LEAT_MEMORY_LOADED] = "loaded",
        [LEAT_MEMORY_RING] = "ring",       [LEAT_MEMORY_COPIES] = "copies",
        [LEAT_MEMORY_SOURCE] = "source",   [LEAT_MEMORY_SCRATCH] = "scratch",
        [LEAT_MEMORY_BLOCKS] = "blocks",   [LEAT_MEMORY_WORKSPACES] = "workspaces",
        [LEAT_MEMORY_ORDER] = "order",     [LEAT_MEMORY_CACHE] = "cache",
        [LEAT_MEMORY_TRACES] = "traces",
    };

    return names[memory];
}

uint64_t leat_account_claim(const struct leat_account *account) {
    return account->used_bytes > account->guaranteed_bytes ? account->used_bytes
                                                           : account->guaranteed_bytes;
}

void leat_budget_init(struct leat_budget *budget, uint64_t limit_bytes) {
    *budget = (struct leat_budget){.limit_bytes = limit_bytes, .user_limit_bytes = UINT64_MAX};
}

static uint64_t saturating_minus(uint64_t needed, uint64_t there) {
    return needed > there ? needed - there : 0;
}

uint64_t leat_budget_free_bytes(const struct leat_budget *budget) {
    return saturating_minus(budget->limit_bytes, budget->claimed_bytes);
}

/* ---- users ---- */

void leat_budget_user_init(struct leat_budget_user *user, struct leat_budget *budget) {
    *user = (struct leat_budget_user){.budget = budget};
}

void leat_budget_user_enter(struct leat_budget_user *user) {
    if (user->n_present++ == 0 && !user->is_operator)
        user->budget->n_users++;
}

void leat_budget_user_leave(struct leat_budget_user *user) {
    if (--user->n_present == 0 && !user->is_operator)
        user->budget->n_users--;
}

uint64_t leat_budget_user_limit(const struct leat_budget_user *user) {
    const struct leat_budget *budget = user->budget;
    uint64_t part = saturating_minus(budget->limit_bytes, budget->own_bytes);
    uint32_t n_users = budget->n_users + (user->n_present == 0);

    if (budget->limit_bytes == UINT64_MAX)
        return UINT64_MAX;
    if (user->is_operator)
        return part;
    if (budget->is_shared)
        part /= n_users > LEAST_PARTS ? n_users : LEAST_PARTS;
    return part < budget->user_limit_bytes ? part : budget->user_limit_bytes;
}

static uint64_t part_left(const struct leat_budget_user *user) {
    return saturating_minus(leat_budget_user_limit(user), user->claimed_bytes);
}

uint64_t leat_budget_user_free_bytes(const struct leat_budget_user *user) {
    uint64_t left = part_left(user), free_bytes = leat_budget_free_bytes(user->budget);

    return left < free_bytes ? left : free_bytes;
}

bool leat_budget_user_has_part(const struct leat_budget_user *user, uint64_t bytes) {
    return bytes <= part_left(user);
}

/* ---- accounts ---- */

/* Counts the change of the claim, which was `before`, in the budget and its user. */
static void count_claim(const struct leat_account *account, uint64_t before) {
    uint64_t change = leat_account_claim(account) - before;

    account->budget->claimed_bytes += change;
    if (account->user)
        account->user->claimed_bytes += change;
    else
        account->budget->own_bytes += change;
}

/* Bytes that the account may still claim, of its user's part and of the budget. */
static uint64_t free_bytes_of(const struct leat_account *account) {
    return account->user ? leat_budget_user_free_bytes(account->user)
                         : leat_budget_free_bytes(account->budget);
}

static int open_account(struct leat_account *account, struct leat_budget *budget,
                        struct leat_budget_user *user, uint64_t guaranteed_bytes) {
    *account = (struct leat_account){.budget = budget, .user = user};
    if (user)
        leat_budget_user_enter(user);
    if (leat_account_guarantee(account, guaranteed_bytes) == 0)
        return 0;
    if (user)
        leat_budget_user_leave(user);
    budget->n_refused++;
    account->budget = NULL;
    return -ENOMEM;
}

int leat_account_open(struct leat_account *account, struct leat_budget *budget,
                      uint64_t guaranteed_bytes) {
    return open_account(account, budget, NULL, guaranteed_bytes);
}

int leat_account_open_of(struct leat_account *account, struct leat_budget_user *user,
                         uint64_t guaranteed_bytes) {
    return open_account(account, user->budget, user, guaranteed_bytes);
}

void leat_account_close(struct leat_account *account) {
    if (!account->budget)
        return;
    assert(account->used_bytes == 0);
    leat_account_want(account, 0);
    (void)leat_account_guarantee(account, 0);
    if (account->user)
        leat_budget_user_leave(account->user);
    account->budget = NULL;
}

int leat_account_guarantee(struct leat_account *account, uint64_t bytes) {
    uint64_t before = leat_account_claim(account), change = bytes - account->guaranteed_bytes;

    if (bytes > before && bytes - before > free_bytes_of(account))
        return -ENOMEM;
    account->budget->guaranteed_bytes += change;
    if (account->user)
        account->user->guaranteed_bytes += change;
    account->guaranteed_bytes = bytes;
    count_claim(account, before);
    return 0;
}

void leat_account_change(struct leat_account *account, enum leat_memory memory,
                         uint64_t before_bytes, uint64_t after_bytes) {
    struct leat_budget *budget = account->budget;
    struct leat_pool_stats *pool = &account->pools[memory];
    uint64_t claimed = leat_account_claim(account), change = after_bytes - before_bytes;

    assert(pool->current_bytes >= before_bytes);
    pool->current_bytes += change;
    if (pool->current_bytes > pool->peak_bytes)
        pool->peak_bytes = pool->current_bytes;
    if (after_bytes < before_bytes)
        budget->n_returned_bytes += before_bytes - after_bytes;
    account->used_bytes += change;
    if (account->user)
        account->user->used_bytes += change;
    budget->used_bytes += change;
    if (budget->used_bytes > budget->peak_bytes)
        budget->peak_bytes = budget->used_bytes;
    count_claim(account, claimed);
}

void leat_account_count(struct leat_account *account, enum leat_memory memory, bool is_hit) {
    struct leat_pool_stats *pool = &account->pools[memory];

    pool->n_allocations++;
    pool->n_hits += is_hit;
    pool->n_misses += !is_hit;
}

/* Memory into which accounts may grow: of the budget, and of the part of the user. */
static uint64_t left_to_grow(const struct leat_account *account) {
    const struct leat_budget *budget = account->budget;
    const struct leat_budget_user *user = account->user;
    uint64_t kept = budget->limit_bytes / HEADROOM + budget->wanted_bytes + budget->starved_bytes;
    uint64_t left =
        saturating_minus(saturating_minus(budget->limit_bytes, kept), budget->claimed_bytes);
    uint64_t limit, part;

    if (!user || budget->limit_bytes == UINT64_MAX)
        return left;
    limit = leat_budget_user_limit(user);
    part = saturating_minus(saturating_minus(limit, user->wanted_bytes + user->starved_bytes),
                            user->claimed_bytes);
    return part < left ? part : left;
}

/* The same for accounts that cannot go on without, which may exceed the budget a little. */
static uint64_t left_at_most(const struct leat_account *account) {
    const struct leat_budget *budget = account->budget;
    const struct leat_budget_user *user = account->user;
    uint64_t limit = budget->limit_bytes, left, part;

    if (limit == UINT64_MAX)
        return limit;
    left = saturating_minus(limit + limit / EXCESS, budget->claimed_bytes);
    if (!user)
        return left;
    limit = leat_budget_user_limit(user);
    part = saturating_minus(limit + limit / EXCESS, user->claimed_bytes);
    return part < left ? part : left;
}

/* The part of `bytes` more that the account does not claim already. */
static uint64_t unclaimed_bytes(const struct leat_account *account, uint64_t bytes) {
    return saturating_minus(account->used_bytes + bytes, leat_account_claim(account));
}

bool leat_account_may_hope(const struct leat_account *account, uint64_t bytes) {
    const struct leat_budget *budget = account->budget;
    const struct leat_budget_user *user = account->user;
    uint64_t others = budget->guaranteed_bytes - account->guaranteed_bytes;

    if (account->used_bytes + bytes > saturating_minus(budget->limit_bytes, others))
        return false;
    return !user || account->used_bytes + bytes <=
                        saturating_minus(leat_budget_user_limit(user),
                                         user->guaranteed_bytes - account->guaranteed_bytes);
}

/* Others give something back only for what is its user's part. */
void leat_account_want(struct leat_account *account, uint64_t bytes) {
    uint64_t of_all =
        !account->user || leat_budget_user_has_part(account->user, unclaimed_bytes(account, bytes))
            ? bytes
            : 0;

    account->budget->starved_bytes += of_all - account->wanted_of_all_bytes;
    if (account->user)
        account->user->starved_bytes += bytes - account->wanted_bytes;
    account->wanted_bytes = bytes;
    account->wanted_of_all_bytes = of_all;
}

bool leat_account_may_grow(const struct leat_account *account, uint64_t bytes) {
    uint64_t more = unclaimed_bytes(account, bytes);

    return more == 0 || more <= left_to_grow(account);
}

uint64_t leat_account_room(const struct leat_account *account) {
    return leat_account_claim(account) - account->used_bytes + left_to_grow(account);
}

bool leat_account_must_grow(const struct leat_account *account, uint64_t bytes) {
    uint64_t more = unclaimed_bytes(account, bytes);

    return more == 0 || more <= left_at_most(account);
}

bool leat_account_should_shrink(const struct leat_account *account) {
    const struct leat_budget *budget = account->budget;
    const struct leat_budget_user *user = account->user;
    uint64_t kept = budget->limit_bytes / HEADROOM + budget->wanted_bytes + budget->starved_bytes;

    if (account->used_bytes <= account->guaranteed_bytes || budget->limit_bytes == UINT64_MAX)
        return false;
    return budget->claimed_bytes > saturating_minus(budget->limit_bytes, kept) ||
           (user &&
            user->claimed_bytes > saturating_minus(leat_budget_user_limit(user),
                                                   user->wanted_bytes + user->starved_bytes));
}

static void add_counts(struct leat_pool_stats *pool, const struct leat_pool_stats *more) {
    pool->n_allocations += more->n_allocations;
    pool->n_hits += more->n_hits;
    pool->n_misses += more->n_misses;
}

void leat_pool_stats_keep(struct leat_pool_stats pools[LEAT_N_MEMORIES],
                          const struct leat_pool_stats ended[LEAT_N_MEMORIES]) {
    for (int i = 0; i < LEAT_N_MEMORIES; i++) {
        add_counts(&pools[i], &ended[i]);
        if (ended[i].peak_bytes > pools[i].peak_bytes)
            pools[i].peak_bytes = ended[i].peak_bytes;
    }
}

void leat_pool_stats_add(struct leat_pool_stats pools[LEAT_N_MEMORIES],
                         const struct leat_pool_stats more[LEAT_N_MEMORIES]) {
    for (int i = 0; i < LEAT_N_MEMORIES; i++) {
        add_counts(&pools[i], &more[i]);
        pools[i].current_bytes += more[i].current_bytes;
        if (pools[i].current_bytes > pools[i].peak_bytes)
            pools[i].peak_bytes = pools[i].current_bytes;
        if (more[i].peak_bytes > pools[i].peak_bytes)
            pools[i].peak_bytes = more[i].peak_bytes;
    }
}

/* ---- leftovers ---- */

void leat_leftovers_add(struct leat_leftovers *leftovers, void *take_piece) {
    void **piece = take_piece;

    if (!piece)
        return;
    *piece = leftovers->first;
    leftovers->first = piece;
}

void leat_leftovers_free(struct leat_leftovers *leftovers) {
    while (leftovers->first) {
        void **piece = leftovers->first;

        leftovers->first = *piece;
        free(piece);
    }
}

void leat_leftovers_discharge(struct leat_leftovers *leftovers, struct leat_account *account) {
    for (int i = 0; i < LEAT_N_MEMORIES; i++) {
        leat_account_change(account, (enum leat_memory)i, leftovers->n_bytes[i], 0);
        leftovers->n_bytes[i] = 0;
    }
}
