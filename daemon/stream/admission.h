/* admission.h: whether there is memory for one more stream, and if there is not, the sum in words.
 *
 * A stream is guaranteed what it needs to go on at all: a ring, two blocks in line and one at work,
 * what its order stages hold, what it has loaded, and one workspace. What makes it faster it takes
 * where there is room, and has to do without where there is not.
 * Parsing a file takes much more memory, for a moment, than what is made of it: a plan claims that
 * while it is built.
 * Owner: loop.
 */
#pragma once

#include "daemon/users/user.h"
#include "pipeline/memory/budget.h"
#include "pipeline/work/memory_plan.h"

struct leat_daemon;

struct leat_admission {
    struct leat_memory_plan memory;
    uint32_t n_slots, n_min_slots; /* of the ring */
    uint64_t guaranteed_bytes;
};

/* Somebody who waits until others have given back what they have beyond their guarantees. */
struct leat_memory_wait {
    struct leat_memory_wait *next;
    struct leat_budget_user *user;
    uint64_t need_bytes, deadline_ns;
    bool is_waiting;
    void (*done)(struct leat_daemon *daemon, struct leat_memory_wait *wait); /* there or not */
};

void leat_memory_wait_start(struct leat_daemon *daemon, struct leat_memory_wait *wait,
                            struct leat_budget_user *user, uint64_t need_bytes,
                            uint64_t deadline_ns,
                            void (*done)(struct leat_daemon *daemon,
                                         struct leat_memory_wait *wait));
void leat_memory_wait_cancel(struct leat_daemon *daemon, struct leat_memory_wait *wait);
/* As long as anybody waits at most, from now. */
uint64_t leat_memory_wait_deadline_ns(void);
/* After every turn of the loop. */
void leat_memory_waits_check(struct leat_daemon *daemon);

/* Bytes that are worth waiting for before a run of that plan is opened, *ret_loaded of them taken
 * by the plan itself; 0: there is room, or there will never be. */
uint64_t leat_admission_wait_bytes(const struct leat_daemon *daemon,
                                   const struct leat_budget_user *user,
                                   const struct leat_plan *plan, uint32_t window, bool has_copies,
                                   uint64_t *ret_loaded);
/* Whether there is room for a run of that plan now. */
bool leat_admission_fits(const struct leat_daemon *daemon, const struct leat_budget_user *user,
                         const struct leat_plan *plan, uint32_t window);
/* What a run of that plan gets; opens its account. 0 or -ENOMEM. */
int leat_admission_open(struct leat_daemon *daemon, struct leat_user *user,
                        const struct leat_plan *plan, uint32_t window, struct leat_account *account,
                        struct leat_admission *ret_admission, struct leat_error *err);
/* Opens the account for so many copies of batches under way. */
int leat_admission_open_copies(struct leat_user *user, const struct leat_plan *plan,
                               uint32_t window, struct leat_account *account,
                               struct leat_error *err);
/* An error in words: nothing of what is there can be had for it. */
int leat_admission_refuse_growth(struct leat_user *user, const char *what, uint64_t bytes,
                                 struct leat_error *err);

/* A plan that is built, or waits for the memory that it takes. */
struct leat_loading {
    struct leat_task *task;
    struct leat_budget_user *memory;
    struct leat_task_queue *queue; /* builds it */
    uint64_t room_bytes;           /* that it may take for a moment, */
    uint64_t free_bytes;           /* of so many */
    uint64_t need_bytes;           /* that it wants; 0: not known yet */
    uint64_t deadline_ns;          /* to wait for them */
    struct leat_memory_wait wait;
    struct leat_account account;
};

/* Hands the task to the scheduler. user NULL: the operator's. */
void leat_loading_start(struct leat_daemon *daemon, struct leat_loading *loading,
                        struct leat_user *user, struct leat_task *task);
/* When it was done, and nothing was loaded for want of memory: true: it gets that or waits for it,
 * and is handed to the scheduler once more. */
bool leat_loading_again(struct leat_daemon *daemon, struct leat_loading *loading);
/* When it is done: gives back what it might have taken. */
void leat_loading_release(struct leat_loading *loading);
/* On the pool, before anything is loaded: 0, or -ENOMEM. */
int leat_loading_check(struct leat_loading *loading, const struct leat_spec *spec,
                       struct leat_error *err);
