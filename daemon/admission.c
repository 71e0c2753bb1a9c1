/* admission.c: see admission.h. */
#include "daemon/admission.h"

#include <errno.h>
#include <stddef.h>

#include "daemon/daemon.h"
#include "daemon/feed.h"
#include "daemon/ring.h"

#define LOADING_PART 16
#define WAIT_NS      UINT64_C(5000000000)

#define MIB(bytes) ((double)(bytes) / 1048576)

static uint64_t headroom(const struct leat_budget *budget) {
    return budget->limit_bytes / 8;
}

/* ---- waiting ---- */

static void count_wanted(struct leat_daemon *daemon) {
    daemon->budget.wanted_bytes = 0;
    for (const struct leat_memory_wait *wait = daemon->memory_waits; wait; wait = wait->next)
        if (wait->need_bytes > daemon->budget.wanted_bytes)
            daemon->budget.wanted_bytes = wait->need_bytes;
}

void leat_memory_wait_start(struct leat_daemon *daemon, struct leat_memory_wait *wait,
                            uint64_t need_bytes,
                            void (*done)(struct leat_daemon *daemon,
                                         struct leat_memory_wait *wait)) {
    struct leat_memory_wait **last = &daemon->memory_waits;

    while (*last)
        last = &(*last)->next;
    *wait = (struct leat_memory_wait){.need_bytes = need_bytes,
                                      .deadline_ns = leat_daemon_now_ns() + WAIT_NS,
                                      .is_waiting = true,
                                      .done = done};
    *last = wait;
    count_wanted(daemon);
    leat_feeds_trim(daemon);
}

void leat_memory_wait_cancel(struct leat_daemon *daemon, struct leat_memory_wait *wait) {
    struct leat_memory_wait **link = &daemon->memory_waits;

    if (!wait->is_waiting)
        return;
    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    wait->is_waiting = false;
    count_wanted(daemon);
}

/* The first comes first: others would take from it what it waits for. */
void leat_memory_waits_check(struct leat_daemon *daemon) {
    struct leat_memory_wait *wait;

    while ((wait = daemon->memory_waits) &&
           (leat_budget_free_bytes(&daemon->budget) >= wait->need_bytes || daemon->is_stopping ||
            leat_daemon_now_ns() >= wait->deadline_ns)) {
        leat_memory_wait_cancel(daemon, wait);
        wait->done(daemon, wait);
    }
}

/* ---- streams ---- */

static uint64_t ring_bytes(const struct leat_memory_plan *memory, uint32_t n_slots) {
    size_t slot_bytes, size_bytes;

    return leat_ring_size((size_t)memory->slot_bytes, n_slots, &slot_bytes, &size_bytes) < 0
               ? UINT64_MAX / 4
               : size_bytes;
}

/* As many slots as are wanted, if there is room without what is left for others; else fewer. */
static uint32_t choose_slots(const struct leat_budget *budget,
                             const struct leat_memory_plan *memory, uint32_t n_min,
                             uint32_t n_max) {
    uint64_t least = leat_memory_plan_least(memory), free_bytes = leat_budget_free_bytes(budget);
    uint64_t room = free_bytes > headroom(budget) ? free_bytes - headroom(budget) : 0;
    uint64_t n;

    if (budget->limit_bytes == UINT64_MAX || least + ring_bytes(memory, n_max) <= room)
        return n_max;
    n = room > least ? (room - least) / ring_bytes(memory, 1) : 0;
    return n < n_min ? n_min : n > n_max ? n_max : (uint32_t)n;
}

static int refuse(const struct leat_daemon *daemon, const struct leat_admission *admission,
                  struct leat_error *err) {
    const struct leat_memory_plan *memory = &admission->memory;
    const struct leat_budget *budget = &daemon->budget;
    uint64_t ring = ring_bytes(memory, admission->n_slots);

    return leat_error_set(
        err, -ENOMEM,
        "it does not fit into memory_limit (%.1f MiB): it needs at least %.1f MiB (ring %.1f: %u "
        "slots of %llu bytes; blocks %.1f; order stages %.1f; tokenizers and the like %.1f; "
        "workspace "
        "%.1f), and %.1f MiB are free (%.1f are claimed by %u streams and the daemon itself)",
        MIB(budget->limit_bytes), MIB(leat_memory_plan_least(memory) + ring), MIB(ring),
        admission->n_slots, (unsigned long long)memory->slot_bytes,
        MIB(LEAT_MEMORY_MIN_BLOCKS * memory->block_bytes + memory->scratch_bytes),
        MIB(memory->order_bytes), MIB(memory->loaded_bytes), MIB(memory->workspace_bytes),
        MIB(leat_budget_free_bytes(budget)), MIB(budget->claimed_bytes), daemon->n_feeds);
}

static void plan_memory(const struct leat_daemon *daemon, const struct leat_plan *plan,
                        uint32_t window, struct leat_memory_plan *ret_memory) {
    leat_memory_plan(plan, window, 4 * daemon->n_workers + 3, daemon->scheduler.max_long,
                     ret_memory);
}

uint64_t leat_admission_wait_bytes(const struct leat_daemon *daemon, const struct leat_plan *plan,
                                   uint32_t window) {
    const struct leat_budget *budget = &daemon->budget;
    struct leat_memory_plan memory;
    uint64_t bytes;

    if (budget->limit_bytes == UINT64_MAX)
        return 0;
    plan_memory(daemon, plan, window, &memory);
    bytes = leat_memory_plan_least(&memory) + ring_bytes(&memory, memory.n_min_slots);
    return bytes > leat_budget_free_bytes(budget) &&
                   bytes <= budget->limit_bytes - budget->guaranteed_bytes
               ? bytes
               : 0;
}

int leat_admission_open(struct leat_daemon *daemon, const struct leat_plan *plan, uint32_t window,
                        struct leat_account *account, struct leat_admission *ret_admission,
                        struct leat_error *err) {
    struct leat_budget *budget = &daemon->budget;
    struct leat_memory_plan *memory = &ret_admission->memory;
    uint32_t n_max;

    plan_memory(daemon, plan, window, memory);
    n_max = memory->n_slots < LEAT_RING_MAX_SLOTS ? memory->n_slots : LEAT_RING_MAX_SLOTS;
    ret_admission->n_min_slots = memory->n_min_slots < n_max ? memory->n_min_slots : n_max;
    ret_admission->n_slots = choose_slots(budget, memory, ret_admission->n_min_slots, n_max);
    ret_admission->guaranteed_bytes =
        budget->limit_bytes == UINT64_MAX
            ? 0
            : leat_memory_plan_least(memory) + ring_bytes(memory, ret_admission->n_slots);
    if (leat_account_open(account, budget, ret_admission->guaranteed_bytes) == 0)
        return 0;
    return refuse(daemon, ret_admission, err);
}

int leat_admission_open_copies(struct leat_daemon *daemon, const struct leat_plan *plan,
                               uint32_t window, struct leat_account *account,
                               struct leat_error *err) {
    struct leat_budget *budget = &daemon->budget;
    uint64_t bytes = window * (uint64_t)(plan->slot_bytes + plan->slot_bytes / 255 + 64);

    if (leat_account_open(account, budget, budget->limit_bytes == UINT64_MAX ? 0 : bytes) == 0)
        return 0;
    return leat_error_set(err, -ENOMEM,
                          "copies of its batches do not fit into memory_limit (%.1f MiB): they may "
                          "take %.1f MiB (%u of %.2f), and %.1f MiB are free",
                          MIB(budget->limit_bytes), MIB(bytes), window, MIB(plan->slot_bytes),
                          MIB(leat_budget_free_bytes(budget)));
}

int leat_admission_refuse_growth(const struct leat_account *account, const char *what,
                                 uint64_t bytes, struct leat_error *err) {
    return leat_error_set(err, -ENOMEM,
                          "%s need %.1f MiB; of memory_limit (%.1f MiB) %.1f MiB are free", what,
                          MIB(bytes), MIB(account->budget->limit_bytes),
                          MIB(leat_budget_free_bytes(account->budget)));
}

/* ---- plans ---- */

void leat_loadings_init(struct leat_loadings *loadings) {
    *loadings = (struct leat_loadings){.last = &loadings->first};
}

/* All that is free; what is left for others is not claimed, as it is for a moment only. */
static void start(struct leat_daemon *daemon, struct leat_loading *loading) {
    struct leat_budget *budget = &daemon->budget;
    uint64_t free_bytes = leat_budget_free_bytes(budget);

    loading->room_bytes = free_bytes;
    (void)leat_account_open(&loading->account, budget,
                            free_bytes > headroom(budget) ? free_bytes - headroom(budget)
                                                          : free_bytes);
    leat_scheduler_add(&daemon->scheduler, NULL, loading->task);
}

static void on_room(struct leat_daemon *daemon, struct leat_memory_wait *wait) {
    start(daemon, (struct leat_loading *)((char *)wait - offsetof(struct leat_loading, wait)));
}

/* Where hardly anything is free, others first give back what they can do without. */
static void begin(struct leat_daemon *daemon, struct leat_loading *loading) {
    uint64_t need_bytes = daemon->budget.limit_bytes / LOADING_PART;

    daemon->loadings.running = loading;
    if (leat_budget_free_bytes(&daemon->budget) >= need_bytes)
        start(daemon, loading);
    else
        leat_memory_wait_start(daemon, &loading->wait, need_bytes, on_room);
}

void leat_loading_start(struct leat_daemon *daemon, struct leat_loading *loading,
                        struct leat_task *task) {
    *loading = (struct leat_loading){.task = task, .room_bytes = UINT64_MAX};
    if (daemon->budget.limit_bytes == UINT64_MAX) {
        leat_scheduler_add(&daemon->scheduler, NULL, task);
    } else if (!daemon->loadings.running) {
        begin(daemon, loading);
    } else {
        *daemon->loadings.last = loading;
        daemon->loadings.last = &loading->next;
    }
}

void leat_loading_release(struct leat_daemon *daemon, struct leat_loading *loading) {
    leat_account_close(&loading->account);
    if (daemon->loadings.running == loading)
        daemon->loadings.running = NULL;
}

void leat_loading_next(struct leat_daemon *daemon) {
    struct leat_loadings *loadings = &daemon->loadings;
    struct leat_loading *next = loadings->first;

    if (loadings->running || !next)
        return;
    loadings->first = next->next;
    if (!loadings->first)
        loadings->last = &loadings->first;
    begin(daemon, next);
}

int leat_loading_check(const struct leat_loading *loading, const struct leat_spec *spec,
                       struct leat_error *err) {
    uint64_t bytes;

    if (loading->room_bytes == UINT64_MAX)
        return 0;
    bytes = leat_memory_plan_load(spec);
    if (bytes <= loading->room_bytes)
        return 0;
    return leat_error_set(err, -ENOMEM,
                          "streams.%s: loading the files that it names may take %.1f MiB for a "
                          "moment; of memory_limit %.1f MiB are free",
                          spec->name, MIB(bytes), MIB(loading->room_bytes));
}
