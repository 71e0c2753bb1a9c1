/* budget.h: counts the memory that is in use, and says who may take more.
 *
 * Each stream has an account with a guarantee, which it may always use. What an account has beyond
 * its guarantee comes out of memory that no guarantee claims. An eighth of the budget is left for
 * streams to come. An account never refuses memory that is already taken: those that can wait ask
 * before. Once the budget is tight, accounts above their guarantee give back what they do not need.
 *
 * Users share what the process itself does not claim. No user has more than its part: a half while
 * there are at most two users, else an equal part each. A request beyond that part neither waits
 * for other users nor takes from them. Owner: one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum leat_memory {
    LEAT_MEMORY_PROCESS,    /* the process as it is before the first stream */
    LEAT_MEMORY_LOADED,     /* vocabularies, tokenizers and the like */
    LEAT_MEMORY_RING,       /* shared memory of batches */
    LEAT_MEMORY_COPIES,     /* batches on their way through a socket */
    LEAT_MEMORY_SOURCE,     /* bytes that were read */
    LEAT_MEMORY_SCRATCH,    /* memory of blocks while they are worked on */
    LEAT_MEMORY_BLOCKS,     /* blocks behind that */
    LEAT_MEMORY_WORKSPACES, /* what stages keep from block to block */
    LEAT_MEMORY_ORDER,      /* tables of stages, batches as references, bad records to be written */
    LEAT_MEMORY_CACHE,      /* blocks on their way to a cache file, and its index */
    LEAT_MEMORY_TRACES,     /* events that wait to be asked for */
    LEAT_N_MEMORIES,
};

const char *leat_memory_name(enum leat_memory memory);

struct leat_pool_stats {
    uint64_t n_allocations; /* requests, */
    uint64_t n_hits;        /* that memory at hand served */
    uint64_t n_misses;      /* that took new memory */
    uint64_t current_bytes, peak_bytes;
};

struct leat_budget {
    uint64_t limit_bytes;            /* UINT64_MAX: none */
    uint64_t claimed_bytes;          /* of all accounts, the larger of guarantee and use */
    uint64_t used_bytes, peak_bytes; /* of all accounts */
    uint64_t guaranteed_bytes;       /* of all accounts */
    uint64_t wanted_bytes;           /* by waiting accounts; those above their guarantee give way */
    uint64_t starved_bytes;          /* the same, by accounts that cannot go on without */
    uint64_t n_returned_bytes;       /* given back, ever */
    uint64_t n_refused;              /* accounts that did not fit */
    uint64_t own_bytes;              /* claimed by accounts of no user */
    uint64_t user_limit_bytes;       /* the most that a user may have; UINT64_MAX: no such limit */
    bool is_shared;                  /* users have parts; else one may have all */
    uint32_t n_users;                /* that have memory or wait for it */
};

/* A user shares the budget with others and outlives its accounts. */
struct leat_budget_user {
    struct leat_budget *budget;
    uint64_t claimed_bytes, used_bytes, guaranteed_bytes; /* of all its accounts */
    uint64_t wanted_bytes, starved_bytes;                 /* as of the budget, of this user */
    uint32_t n_present;                                   /* accounts, and waits */
    bool is_operator;                                     /* it may have all and is not counted */
};

struct leat_account {
    struct leat_budget *budget;
    struct leat_budget_user *user; /* NULL: the account is the process's own */
    uint64_t guaranteed_bytes, used_bytes;
    uint64_t wanted_bytes;        /* the account waits for so much */
    uint64_t wanted_of_all_bytes; /* the same, or 0 if only its own user can give it */
    struct leat_pool_stats pools[LEAT_N_MEMORIES];
};

/* Makes a budget that users do not share. */
void leat_budget_init(struct leat_budget *budget, uint64_t limit_bytes);
uint64_t leat_budget_free_bytes(const struct leat_budget *budget);

void leat_budget_user_init(struct leat_budget_user *user, struct leat_budget *budget);
/* Counts the user as present until leave() was called as often, so that other users have less. */
void leat_budget_user_enter(struct leat_budget_user *user);
void leat_budget_user_leave(struct leat_budget_user *user);
/* The most that the user may have; UINT64_MAX: any amount. */
uint64_t leat_budget_user_limit(const struct leat_budget_user *user);
/* Bytes that the user may still claim, of its part and of the budget. */
uint64_t leat_budget_user_free_bytes(const struct leat_budget_user *user);
/* True if the part of the user has room for so much more, even if others use it now. */
bool leat_budget_user_has_part(const struct leat_budget_user *user, uint64_t bytes);

/* The bytes that the account takes from the budget: its guarantee, or its use if that is more. */
uint64_t leat_account_claim(const struct leat_account *account);
/* -ENOMEM: the guarantee cannot be given. */
int leat_account_open(struct leat_account *account, struct leat_budget *budget,
                      uint64_t guaranteed_bytes);
int leat_account_open_of(struct leat_account *account, struct leat_budget_user *user,
                         uint64_t guaranteed_bytes);
/* All memory of the account must have been given back. */
void leat_account_close(struct leat_account *account);
/* Changes the guarantee. 0 or -ENOMEM. */
int leat_account_guarantee(struct leat_account *account, uint64_t bytes);

/* Counts that after_bytes are in use in place of before_bytes. */
void leat_account_change(struct leat_account *account, enum leat_memory memory,
                         uint64_t before_bytes, uint64_t after_bytes);
/* Counts a request, and if memory at hand served it. */
void leat_account_count(struct leat_account *account, enum leat_memory memory, bool is_hit);

/* True if the account may take so much more: memory that it can do without (may), or cannot
 * (must). */
bool leat_account_may_grow(const struct leat_account *account, uint64_t bytes);
bool leat_account_must_grow(const struct leat_account *account, uint64_t bytes);
/* Bytes that the account may still take at most. */
uint64_t leat_account_room(const struct leat_account *account);
/* True if so much more would be free once all others gave back what they have beyond guarantees. */
bool leat_account_may_hope(const struct leat_account *account, uint64_t bytes);
/* Makes the account wait for so much, so that others make room; 0: it waits no more. */
void leat_account_want(struct leat_account *account, uint64_t bytes);
/* True if the account has more than its guarantee and others need it. */
bool leat_account_should_shrink(const struct leat_account *account);

/* keep: adds the counts and the peak of an account that has ended. add: of one that goes on. The
 * peak is the largest of one account, or what all have now if that is more. */
void leat_pool_stats_keep(struct leat_pool_stats pools[LEAT_N_MEMORIES],
                          const struct leat_pool_stats ended[LEAT_N_MEMORIES]);
void leat_pool_stats_add(struct leat_pool_stats pools[LEAT_N_MEMORIES],
                         const struct leat_pool_stats more[LEAT_N_MEMORIES]);

/* Memory that its owner has done with and that is given back to the system later, by
 * any one thread: for much of it that takes the system a while. It stays counted until then. */
struct leat_leftovers {
    void *first;                       /* each begins with a pointer to the next */
    uint64_t n_bytes[LEAT_N_MEMORIES]; /* counted in an account */
};

/* A piece from malloc() with room for a pointer; NULL: nothing happens. */
void leat_leftovers_add(struct leat_leftovers *leftovers, void *take_piece);
/* Gives all of it back to the system. Any thread, as nobody else has it. */
void leat_leftovers_free(struct leat_leftovers *leftovers);
/* Takes what was freed out of the account. Of the account's thread. */
void leat_leftovers_discharge(struct leat_leftovers *leftovers, struct leat_account *account);
