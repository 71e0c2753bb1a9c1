/* admission.c: see admission.h. */
#include "daemon/stream/admission.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "daemon/core/daemon.h"
#include "daemon/stream/feed.h"
#include "daemon/stream/ring.h"

#define WAIT_NS UINT64_C(5000000000)

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

uint64_t leat_memory_wait_deadline_ns(void) {
    return leat_daemon_now_ns() + WAIT_NS;
}

void leat_memory_wait_start(struct leat_daemon *daemon, struct leat_memory_wait *wait,
                            uint64_t need_bytes, uint64_t deadline_ns,
                            void (*done)(struct leat_daemon *daemon,
                                         struct leat_memory_wait *wait)) {
    struct leat_memory_wait **last = &daemon->memory_waits;

    while (*last)
        last = &(*last)->next;
    *wait = (struct leat_memory_wait){
        .need_bytes = need_bytes, .deadline_ns = deadline_ns, .is_waiting = true, .done = done};
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

    return leat_slot_ring_size((size_t)memory->slot_bytes, n_slots, &slot_bytes, &size_bytes) < 0
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

/* What would make it fit, by what takes the most. */
static const char *advice(const struct leat_memory_plan *memory, uint64_t ring, uint64_t least,
                          uint64_t most) {
    if (least <= most && memory->order_bytes < least / 2 && ring < least / 2)
        return "it would fit alone: try again when others have ended, or raise memory_limit";
    if (memory->order_bytes >= least / 3 && ring >= least / 3)
        return "make its batches smaller, let its order stages hold fewer rows (buffer_size, "
               "window, max_bytes, max_records), or raise memory_limit";
    if (memory->order_bytes >= ring && memory->order_bytes >= least / 3)
        return "let its order stages hold fewer rows (buffer_size, window, max_bytes, "
               "max_records), or raise memory_limit";
    if (ring >= least / 3)
        return "make its batches smaller, or prefetch_size and window, or raise memory_limit";
    return "make block_bytes smaller, or raise memory_limit";
}

static bool is_among(const struct leat_feed *const *feeds, size_t n, const struct leat_feed *feed) {
    while (n > 0)
        if (feeds[--n] == feed)
            return true;
    return false;
}

/* What takes up the rest, the largest first; so many are named. */
#define N_NAMED 3

static void name_takers(const struct leat_daemon *daemon, char *text, size_t size) {
    const struct leat_feed *named[N_NAMED] = {NULL};
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < N_NAMED; i++) {
        const struct leat_feed *largest = NULL;

        for (const struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
            if (!is_among(named, i, feed) &&
                (!largest ||
                 leat_account_claim(&feed->account) > leat_account_claim(&largest->account)))
                largest = feed;
        if (!largest || leat_account_claim(&largest->account) == 0)
            break;
        named[i] = largest;
        n += (size_t)snprintf(text + n, size - n, "%s%.40s %.1f", i > 0 ? ", " : ": ",
                              largest->stream->name, MIB(leat_account_claim(&largest->account)));
    }
}

static int refuse(const struct leat_daemon *daemon, const struct leat_admission *admission,
                  struct leat_error *err) {
    const struct leat_memory_plan *memory = &admission->memory;
    const struct leat_budget *budget = &daemon->budget;
    uint64_t ring = ring_bytes(memory, admission->n_slots);
    uint64_t least = leat_memory_plan_least(memory) + ring;
    uint64_t base = leat_account_claim(&daemon->base);
    char takers[256];

    name_takers(daemon, takers, sizeof(takers));
    return leat_error_set(
        err, -ENOMEM,
        "it does not fit into memory_limit (%.1f MiB): it needs at least %.1f MiB (ring %.1f: %u "
        "slots of %llu bytes; blocks %.1f; order stages %.1f; tokenizers and the like %.1f; "
        "workspace %.1f), and %.1f MiB are free (%.1f for the daemon itself, %.1f for %u runs of "
        "streams%s); %s",
        MIB(budget->limit_bytes), MIB(least), MIB(ring), admission->n_slots,
        (unsigned long long)memory->slot_bytes,
        MIB(memory->n_min_blocks * memory->block_bytes + memory->scratch_bytes +
            memory->decoder_bytes),
        MIB(memory->order_bytes), MIB(memory->loaded_bytes), MIB(memory->workspace_bytes),
        MIB(leat_budget_free_bytes(budget)), MIB(base), MIB(budget->claimed_bytes - base),
        daemon->n_feeds, takers, advice(memory, ring, least, budget->limit_bytes - base));
}

static void plan_memory(const struct leat_daemon *daemon, const struct leat_plan *plan,
                        uint32_t window, struct leat_memory_plan *ret_memory) {
    leat_memory_plan(plan, window, LEAT_BLOCKS_IN_LINE(daemon->n_workers) + 1,
                     daemon->scheduler.max_long, ret_memory);
}

/* Of so many batches, compressed. */
static uint64_t copies_bytes(const struct leat_plan *plan, uint32_t window) {
    return window * (uint64_t)(plan->slot_bytes + plan->slot_bytes / 255 + 64);
}

uint64_t leat_admission_wait_bytes(const struct leat_daemon *daemon, const struct leat_plan *plan,
                                   uint32_t window, bool has_copies, uint64_t *ret_loaded) {
    const struct leat_budget *budget = &daemon->budget;
    struct leat_memory_plan memory;
    uint64_t bytes;

    if (budget->limit_bytes == UINT64_MAX)
        return 0;
    plan_memory(daemon, plan, window, &memory);
    bytes = leat_memory_plan_least(&memory) + ring_bytes(&memory, memory.n_min_slots) +
            (has_copies ? copies_bytes(plan, window) : 0);
    *ret_loaded = memory.loaded_bytes;
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
    uint64_t bytes = copies_bytes(plan, window);

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
    leat_scheduler_add(&daemon->scheduler, loading->queue, loading->task);
}

static void on_room(struct leat_daemon *daemon, struct leat_memory_wait *wait) {
    start(daemon, (struct leat_loading *)((char *)wait - offsetof(struct leat_loading, wait)));
}

static void begin(struct leat_daemon *daemon, struct leat_loading *loading) {
    daemon->loadings.running = loading;
    start(daemon, loading);
}

void leat_loading_start(struct leat_daemon *daemon, struct leat_loading *loading,
                        struct leat_task_queue *queue, struct leat_task *task) {
    *loading = (struct leat_loading){
        .task = task,
        .queue = queue ? queue : &daemon->scheduler.others,
        .room_bytes = UINT64_MAX,
        .deadline_ns = leat_memory_wait_deadline_ns(),
    };
    if (daemon->budget.limit_bytes == UINT64_MAX) {
        leat_scheduler_add(&daemon->scheduler, loading->queue, task);
    } else if (!daemon->loadings.running) {
        begin(daemon, loading);
    } else {
        *daemon->loadings.last = loading;
        daemon->loadings.last = &loading->next;
    }
}

/* Others first give back what they can do without. */
bool leat_loading_again(struct leat_daemon *daemon, struct leat_loading *loading) {
    const struct leat_budget *budget = &daemon->budget;

    if (loading->need_bytes == 0 || daemon->is_stopping ||
        leat_daemon_now_ns() >= loading->deadline_ns)
        return false;
    leat_account_close(&loading->account);
    if (loading->need_bytes > budget->limit_bytes - budget->guaranteed_bytes)
        return false;
    leat_memory_wait_start(daemon, &loading->wait, loading->need_bytes, loading->deadline_ns,
                           on_room);
    return true;
}

void leat_loading_release(struct leat_daemon *daemon, struct leat_loading *loading) {
    leat_account_close(&loading->account);
    if (daemon->loadings.running == loading)
        daemon->loadings.running = NULL;
}

/* Of the user for whom threads have worked the least; of equals the first. */
static struct leat_loading **choose_next(struct leat_loadings *loadings) {
    struct leat_loading **chosen = &loadings->first;

    for (struct leat_loading **at = &loadings->first; *at; at = &(*at)->next)
        if (leat_fair_is_before(&(*at)->queue->user->share, &(*chosen)->queue->user->share))
            chosen = at;
    return chosen;
}

void leat_loading_next(struct leat_daemon *daemon) {
    struct leat_loadings *loadings = &daemon->loadings;
    struct leat_loading **at, *next;

    if (loadings->running || !loadings->first)
        return;
    at = choose_next(loadings);
    next = *at;
    *at = next->next;
    if (!*at)
        loadings->last = at;
    begin(daemon, next);
}

int leat_loading_check(struct leat_loading *loading, const struct leat_spec *spec,
                       struct leat_error *err) {
    uint64_t bytes;

    if (loading->room_bytes == UINT64_MAX)
        return 0;
    bytes = leat_memory_plan_load(spec);
    loading->need_bytes = bytes > loading->room_bytes ? bytes : 0;
    if (bytes <= loading->room_bytes)
        return 0;
    return leat_error_set(err, -ENOMEM,
                          "streams.%s: loading the files that it names may take %.1f MiB for a "
                          "moment; of memory_limit (%.1f MiB) %.1f MiB are free",
                          spec->name, MIB(bytes), MIB(loading->account.budget->limit_bytes),
                          MIB(loading->room_bytes));
}
