/* admission.h: decides whether there is memory for one more run, and explains a refusal.
 *
 * A run is guaranteed what it needs to go on at all: a ring, two queued blocks and one at work,
 * what its order stages hold, what its plan has loaded, and one workspace. Anything that only makes
 * it faster it takes where there is room. Parsing a file takes, for a moment, much more memory than
 * the result: a plan claims that while it is built. Owner: loop.
 */
#pragma once

#include "daemon/stream/feed.h"
#include "daemon/users/user.h"
#include "pipeline/memory/budget.h"
#include "pipeline/run/pipeline.h"

struct leat_feeds;

/* A wait until others have given back memory that they have beyond their guarantees. */
struct leat_memory_wait {
    struct leat_memory_wait *next;
    struct leat_budget_user *user;
    uint64_t need_bytes, deadline_ns;
    bool is_waiting;
    bool is_first; /* of those of its user */
    void (*done)(struct leat_feeds *feeds,
                 struct leat_memory_wait *wait); /* the memory is there, or the time is over */
};

void leat_memory_wait_start(struct leat_feeds *feeds, struct leat_memory_wait *wait,
                            struct leat_budget_user *user, uint64_t need_bytes,
                            uint64_t deadline_ns,
                            void (*done)(struct leat_feeds *feeds, struct leat_memory_wait *wait));
void leat_memory_wait_cancel(struct leat_feeds *feeds, struct leat_memory_wait *wait);
/* The end of the longest wait that begins now. */
uint64_t leat_memory_wait_deadline_ns(void);
/* To be called after every turn of the loop. */
void leat_memory_waits_check(struct leat_feeds *feeds);

/* The number of bytes to wait for before a run of that plan is opened, *ret_loaded of them taken by
 * the plan itself. options: of the run, with its ranks. 0: there is room now, or there never will
 * be. */
uint64_t leat_admission_wait_bytes(const struct leat_budget_user *user,
                                   const struct leat_plan *plan,
                                   const struct leat_run_options *options, uint32_t window,
                                   bool has_copies, uint64_t *ret_loaded);
/* True if there is room for a run of that plan now. */
bool leat_admission_fits(const struct leat_budget_user *user, const struct leat_plan *plan,
                         const struct leat_run_options *options, uint32_t window);
/* Opens the account of a run of that plan. 0 or -ENOMEM; then the advice ends within the first
 * LEAT_ADMISSION_ADVICE_MAX bytes of the message, if each amount is below 100000 MiB. */
#define LEAT_ADMISSION_ADVICE_MAX 411
int leat_admission_open(struct leat_feeds *feeds, struct leat_user *user,
                        const struct leat_plan *plan, const struct leat_run_options *options,
                        uint32_t window, struct leat_admission *ret_admission,
                        struct leat_error *err);
/* Opens the account for copies of `window` batches. 0 or -ENOMEM. */
int leat_admission_open_copies(struct leat_user *user, const struct leat_plan *plan,
                               uint32_t window, struct leat_account *account,
                               struct leat_error *err);
/* Sets and returns -ENOMEM: there is no memory for `what`. */
int leat_admission_refuse_growth(struct leat_user *user, const char *what, uint64_t bytes,
                                 struct leat_error *err);

/* A plan that is built, or waits for the memory for that. */
struct leat_loading {
    struct leat_task *task;
    struct leat_budget_user *memory;
    struct leat_task_queue *queue; /* builds it */
    uint64_t room_bytes;           /* that it claims while it is built, */
    uint64_t free_bytes;           /* out of those that were free */
    uint64_t need_bytes;           /* that it would take; 0: not known yet */
    uint64_t deadline_ns;          /* of its wait */
    struct leat_memory_wait wait;
    struct leat_account account;
};

/* Hands the task to the scheduler. user NULL: it is the operator's. */
void leat_loading_start(struct leat_feeds *feeds, struct leat_loading *loading,
                        struct leat_user *user, struct leat_task *task);
/* When the task was done. True: it had too little memory, and is handed to the scheduler once more,
 * perhaps after a wait. */
bool leat_loading_again(struct leat_feeds *feeds, struct leat_loading *loading);
/* Gives back what was claimed. */
void leat_loading_release(struct leat_loading *loading);
/* On the pool, before anything is loaded. -ENOMEM: see leat_loading_again(). */
int leat_loading_check(struct leat_loading *loading, const struct leat_spec *spec,
                       struct leat_error *err);
