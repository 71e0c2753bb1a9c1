/* budget.h: who has taken how much memory, of what, and who may take more.
 *
 * Each stream has an account with a guarantee: so much it may always have. What it has beyond that
 * comes out of what no guarantee claims, of which an eighth is left for the streams to come. An
 * account never refuses what is already taken; it is asked before, by those who can wait, and once
 * the budget is tight, those who are over their guarantee do not keep what they need no more.
 *
 * Accounts of users share what the process itself does not claim: no user has more than its part,
 * which is a half while there are no more than two of them, and else as much as each other's. What
 * one asks for beyond that neither waits for others nor takes from them.
 * All on one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum leat_memory {
    LEAT_MEMORY_PROCESS,    /* the process as it is before the first stream */
    LEAT_MEMORY_LOADED,     /* vocabularies, tokenizers and the like */
    LEAT_MEMORY_RING,       /* shared memory of batches */
    LEAT_MEMORY_COPIES,     /* of batches on their way through a socket */
    LEAT_MEMORY_SOURCE,     /* bytes that were read */
    LEAT_MEMORY_SCRATCH,    /* of blocks while they are worked on */
    LEAT_MEMORY_BLOCKS,     /* what is kept of them */
    LEAT_MEMORY_WORKSPACES, /* what stages keep from block to block */
    LEAT_MEMORY_ORDER,      /* tables of stages, batches as references, bad records to be written */
    LEAT_MEMORY_CACHE,      /* blocks on their way to a cache file, and its index */
    LEAT_MEMORY_TRACES,     /* events that wait to be asked for */
    LEAT_N_MEMORIES,
};

const char *leat_memory_name(enum leat_memory memory);

struct leat_pool_stats {
    uint64_t n_allocations; /* times that something was asked for, */
    uint64_t n_hits;        /* and was there, */
    uint64_t n_misses;      /* or had to be made */
    uint64_t current_bytes, peak_bytes;
};

struct leat_budget {
    uint64_t limit_bytes;            /* UINT64_MAX: none */
    uint64_t claimed_bytes;          /* of all accounts, the larger of guarantee and use */
    uint64_t used_bytes, peak_bytes; /* of all accounts */
    uint64_t guaranteed_bytes;       /* of all accounts */
    uint64_t wanted_bytes;  /* by somebody who waits: who is over its guarantee makes room for it */
    uint64_t starved_bytes; /* wanted by accounts that cannot go on without, in the same way */
    uint64_t n_returned_bytes; /* were given back, ever */
    uint64_t n_refused;        /* accounts that there was no room for */
    uint64_t own_bytes;        /* claimed by accounts of no user */
    uint64_t user_limit_bytes; /* the most that a user may have; UINT64_MAX: no such limit */
    bool is_shared;            /* by users; else one may have all */
    uint32_t n_users;          /* who have something, or wait for it */
};

/* One who shares the budget with others; outlives its accounts. */
struct leat_budget_user {
    struct leat_budget *budget;
    uint64_t claimed_bytes, used_bytes, guaranteed_bytes; /* of all its accounts */
    uint64_t wanted_bytes, starved_bytes;                 /* as of the budget, by itself */
    uint32_t n_present;                                   /* accounts, and waits */
    bool is_operator; /* it is nobody's part: it may have all, and is not counted */
};

struct leat_account {
    struct leat_budget *budget;
    struct leat_budget_user *user; /* NULL: of the process itself */
    uint64_t guaranteed_bytes, used_bytes;
    uint64_t wanted_bytes;        /* waits for so much, */
    uint64_t wanted_of_all_bytes; /* or 0, if it is its own user who has it */
    struct leat_pool_stats pools[LEAT_N_MEMORIES];
};

/* One that is not shared. */
void leat_budget_init(struct leat_budget *budget, uint64_t limit_bytes);
uint64_t leat_budget_free_bytes(const struct leat_budget *budget);

void leat_budget_user_init(struct leat_budget_user *user, struct leat_budget *budget);
/* It is there, as long as it is not gone as often: others have less. */
void leat_budget_user_enter(struct leat_budget_user *user);
void leat_budget_user_leave(struct leat_budget_user *user);
/* The most that it may have; UINT64_MAX: there is no limit. */
uint64_t leat_budget_user_limit(const struct leat_budget_user *user);
/* What it may claim besides, of its part and of all. */
uint64_t leat_budget_user_free_bytes(const struct leat_budget_user *user);
/* Whether its part has room for so much more, be it that others have it now. */
bool leat_budget_user_has_part(const struct leat_budget_user *user, uint64_t bytes);

/* What it takes of the budget: its guarantee or, if that is more, what it has. */
uint64_t leat_account_claim(const struct leat_account *account);
/* -ENOMEM: the guarantee cannot be given. */
int leat_account_open(struct leat_account *account, struct leat_budget *budget,
                      uint64_t guaranteed_bytes);
int leat_account_open_of(struct leat_account *account, struct leat_budget_user *user,
                         uint64_t guaranteed_bytes);
/* All must have been given back. */
void leat_account_close(struct leat_account *account);
/* A larger or smaller guarantee: 0 or -ENOMEM. */
int leat_account_guarantee(struct leat_account *account, uint64_t bytes);

/* So much was taken before, so much is taken now. */
void leat_account_change(struct leat_account *account, enum leat_memory memory,
                         uint64_t before_bytes, uint64_t after_bytes);
/* Something was asked for. */
void leat_account_count(struct leat_account *account, enum leat_memory memory, bool is_hit);

/* Whether it may take so much more: what it can do without, or what it cannot go on without. */
bool leat_account_may_grow(const struct leat_account *account, uint64_t bytes);
bool leat_account_must_grow(const struct leat_account *account, uint64_t bytes);
/* What it may claim besides, of its user's part and of all. */
uint64_t leat_account_free_bytes(const struct leat_account *account);
/* How much more it may take, at most. */
uint64_t leat_account_room(const struct leat_account *account);
/* Whether it could take so much more if all others gave back what they have beyond guarantees. */
bool leat_account_may_hope(const struct leat_account *account, uint64_t bytes);
/* It waits for so much, and others make room for it; 0: no more. */
void leat_account_want(struct leat_account *account, uint64_t bytes);
/* It has more than it is guaranteed, and others need it. */
bool leat_account_should_shrink(const struct leat_account *account);

/* keep: of one that has ended, the counts and the peak. add: of one that goes on. The peak is the
 * largest of one, or what all have now if that is more. */
void leat_pool_stats_keep(struct leat_pool_stats pools[LEAT_N_MEMORIES],
                          const struct leat_pool_stats ended[LEAT_N_MEMORIES]);
void leat_pool_stats_add(struct leat_pool_stats pools[LEAT_N_MEMORIES],
                         const struct leat_pool_stats more[LEAT_N_MEMORIES]);
