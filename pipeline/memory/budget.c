/* budget.c: see budget.h. */
#include "pipeline/memory/budget.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#define HEADROOM 8  /* that part of the budget is left for streams to come */
#define EXCESS   20 /* that part more may be taken by who cannot go on without */

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
    *budget = (struct leat_budget){.limit_bytes = limit_bytes};
}

uint64_t leat_budget_free_bytes(const struct leat_budget *budget) {
    return budget->claimed_bytes < budget->limit_bytes ? budget->limit_bytes - budget->claimed_bytes
                                                       : 0;
}

int leat_account_open(struct leat_account *account, struct leat_budget *budget,
                      uint64_t guaranteed_bytes) {
    *account = (struct leat_account){.budget = budget};
    if (leat_account_guarantee(account, guaranteed_bytes) == 0)
        return 0;
    budget->n_refused++;
    account->budget = NULL;
    return -ENOMEM;
}

void leat_account_close(struct leat_account *account) {
    if (!account->budget)
        return;
    assert(account->used_bytes == 0);
    leat_account_want(account, 0);
    account->budget->claimed_bytes -= leat_account_claim(account);
    account->budget->guaranteed_bytes -= account->guaranteed_bytes;
    account->budget = NULL;
}

int leat_account_guarantee(struct leat_account *account, uint64_t bytes) {
    struct leat_budget *budget = account->budget;
    uint64_t before = leat_account_claim(account);

    if (bytes > before && bytes - before > leat_budget_free_bytes(budget))
        return -ENOMEM;
    budget->guaranteed_bytes += bytes - account->guaranteed_bytes;
    account->guaranteed_bytes = bytes;
    budget->claimed_bytes += leat_account_claim(account) - before;
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
    budget->used_bytes += change;
    if (budget->used_bytes > budget->peak_bytes)
        budget->peak_bytes = budget->used_bytes;
    budget->claimed_bytes += leat_account_claim(account) - claimed;
}

void leat_account_count(struct leat_account *account, enum leat_memory memory, bool is_hit) {
    struct leat_pool_stats *pool = &account->pools[memory];

    pool->n_allocations++;
    pool->n_hits += is_hit;
    pool->n_misses += !is_hit;
}

/* What of `bytes` more is beyond the guarantee. */
static uint64_t beyond(const struct leat_account *account, uint64_t bytes) {
    uint64_t total = account->used_bytes + bytes, claimed = leat_account_claim(account);

    return total > claimed ? total - claimed : 0;
}

/* Whether the common part has room for it, `limit` being all there is. */
static bool has_room(const struct leat_account *account, uint64_t bytes, uint64_t limit) {
    uint64_t more = beyond(account, bytes), claimed = account->budget->claimed_bytes;

    return more == 0 || (claimed < limit && more <= limit - claimed);
}

bool leat_account_may_hope(const struct leat_account *account, uint64_t bytes) {
    const struct leat_budget *budget = account->budget;
    uint64_t others = budget->guaranteed_bytes - account->guaranteed_bytes;

    return others < budget->limit_bytes &&
           account->used_bytes + bytes <= budget->limit_bytes - others;
}

void leat_account_want(struct leat_account *account, uint64_t bytes) {
    account->budget->starved_bytes += bytes - account->wanted_bytes;
    account->wanted_bytes = bytes;
}

/* What may be taken beyond guarantees. */
static uint64_t common_limit(const struct leat_budget *budget) {
    uint64_t left = budget->limit_bytes / HEADROOM + budget->wanted_bytes + budget->starved_bytes;

    return left < budget->limit_bytes ? budget->limit_bytes - left : 0;
}

bool leat_account_may_grow(const struct leat_account *account, uint64_t bytes) {
    return has_room(account, bytes, common_limit(account->budget));
}

uint64_t leat_account_room(const struct leat_account *account) {
    uint64_t limit = common_limit(account->budget), claimed = account->budget->claimed_bytes;

    return leat_account_claim(account) - account->used_bytes +
           (claimed < limit ? limit - claimed : 0);
}

bool leat_account_must_grow(const struct leat_account *account, uint64_t bytes) {
    uint64_t limit = account->budget->limit_bytes;

    return has_room(account, bytes, limit < UINT64_MAX / 2 ? limit + limit / EXCESS : limit);
}

bool leat_account_should_shrink(const struct leat_account *account) {
    const struct leat_budget *budget = account->budget;

    return account->used_bytes > account->guaranteed_bytes &&
           budget->claimed_bytes > common_limit(budget);
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
