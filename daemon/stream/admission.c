#include "daemon/stream/admission.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/stream/feed.h"
#include "daemon/stream/feeds.h"
#include "daemon/stream/ring.h"
#include "pipeline/run/intake/idle_lanes.h"
#include "pipeline/work/memory_plan.h"
#include "proto/base/clock.h"
#include "proto/base/container_of.h"
#include "proto/base/text.h"

#define WAIT_NS UINT64_C(5000000000)

#define LOADING_BYTES (UINT64_C(4) << 20) /* claimed for a plan that needs no more */

#define MIB(bytes) ((double)(bytes) / 1048576)

static uint64_t headroom_of(const struct leat_budget *budget) {
    return budget->limit_bytes / 8;
}

/* ---- waiting ---- */

/* True if the wait is for a part of what its user may have. Only then do others make room. */
static bool is_of_part(const struct leat_memory_wait *wait) {
    return leat_budget_user_has_part(wait->user, wait->need_bytes);
}

/* Also finds out which wait is the first of its user. */
static void count_wanted(struct leat_feeds *feeds) {
    struct leat_budget *budget = feeds->env->budget;
    struct leat_memory_wait *wait;

    budget->wanted_bytes = 0;
    for (wait = feeds->waits; wait; wait = wait->next)
        wait->user->wanted_bytes = 0;
    for (wait = feeds->waits; wait; wait = wait->next) {
        wait->is_first = wait->user->wanted_bytes == 0;
        if (is_of_part(wait) && wait->need_bytes > budget->wanted_bytes)
            budget->wanted_bytes = wait->need_bytes;
        if (wait->need_bytes > wait->user->wanted_bytes)
            wait->user->wanted_bytes = wait->need_bytes;
    }
}

uint64_t leat_memory_wait_deadline_ns(void) {
    return leat_now_ns() + WAIT_NS;
}

void leat_memory_wait_start(struct leat_feeds *feeds, struct leat_memory_wait *wait,
                            struct leat_budget_user *user, uint64_t need_bytes,
                            uint64_t deadline_ns,
                            void (*done)(struct leat_feeds *feeds, struct leat_memory_wait *wait)) {
    struct leat_memory_wait **last = &feeds->waits;

    while (*last)
        last = &(*last)->next;
    *wait = (struct leat_memory_wait){.user = user,
                                      .need_bytes = need_bytes,
                                      .deadline_ns = deadline_ns,
                                      .is_waiting = true,
                                      .done = done};
    *last = wait;
    leat_budget_user_enter(user);
    count_wanted(feeds);
    leat_feeds_trim(feeds);
}

void leat_memory_wait_cancel(struct leat_feeds *feeds, struct leat_memory_wait *wait) {
    struct leat_memory_wait **link = &feeds->waits;

    if (!wait->is_waiting)
        return;
    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    wait->is_waiting = false;
    wait->user->wanted_bytes = 0;
    leat_budget_user_leave(wait->user);
    count_wanted(feeds);
}

/* Waits end in order, so that no later one takes the memory of an earlier one. But a user whose
 * first wait is for more than its part holds up no one but itself. */
static bool is_behind(const struct leat_feeds *feeds, const struct leat_memory_wait *wait) {
    for (const struct leat_memory_wait *first = feeds->waits; first != wait; first = first->next)
        if (first->user == wait->user || (first->is_first && is_of_part(first)))
            return true;
    return false;
}

static bool is_over(const struct leat_feeds *feeds, const struct leat_memory_wait *wait) {
    return feeds->env->is_stopping || leat_now_ns() >= wait->deadline_ns ||
           (leat_budget_user_free_bytes(wait->user) >= wait->need_bytes && !is_behind(feeds, wait));
}

/* `done` may end other waits, or begin new ones. */
void leat_memory_waits_check(struct leat_feeds *feeds) {
    struct leat_memory_wait *wait = feeds->waits;

    while (wait)
        if (is_over(feeds, wait)) {
            leat_memory_wait_cancel(feeds, wait);
            wait->done(feeds, wait);
            wait = feeds->waits;
        } else {
            wait = wait->next;
        }
}

/* ---- streams ---- */

static uint64_t ring_bytes(const struct leat_memory_plan *memory, uint32_t n_slots) {
    size_t slot_bytes, size_bytes;

    return leat_slot_ring_size((size_t)memory->slot_bytes, n_slots, &slot_bytes, &size_bytes) < 0
               ? UINT64_MAX / 4
               : size_bytes;
}

/* Gives all wanted slots if some room is then left for others; else fewer. */
static uint32_t choose_slots(const struct leat_budget_user *user,
                             const struct leat_memory_plan *memory, uint32_t n_min,
                             uint32_t n_max) {
    const struct leat_budget *budget = user->budget;
    uint64_t least = leat_memory_plan_least(memory), free_bytes = leat_budget_user_free_bytes(user);
    uint64_t room = free_bytes > headroom_of(budget) ? free_bytes - headroom_of(budget) : 0;
    uint64_t n;

    if (budget->limit_bytes == UINT64_MAX || least + ring_bytes(memory, n_max) <= room)
        return n_max;
    n = room > least ? (room - least) / ring_bytes(memory, 1) : 0;
    return n < n_min ? n_min : n > n_max ? n_max : (uint32_t)n;
}

/* Advises on what takes the most. */
static const char *advice_on(const struct leat_memory_plan *memory, uint64_t ring, uint64_t least,
                             uint64_t most) {
    if (least <= most / 4 || (least <= most && memory->order_bytes < least / 2 && ring < least / 2))
        return "the stream would fit alone: retry when other streams have ended, or raise "
               "memory_limit";
    if (memory->order_bytes >= least / 3 && ring >= least / 3)
        return "use smaller batches, lower `buffer_size`, `window`, `max_bytes` or `max_records` "
               "of its stages, or raise memory_limit";
    if (memory->order_bytes >= ring && memory->order_bytes >= least / 3)
        return "lower `buffer_size`, `window`, `max_bytes` or `max_records` of its stages, or "
               "raise memory_limit";
    if (ring >= least / 3)
        return "use smaller batches, lower `prefetch_size` and `window`, or raise memory_limit";
    return "lower block_bytes, or raise memory_limit";
}

static bool is_among(const struct leat_feed *const *feeds, size_t n, const struct leat_feed *feed) {
    while (n > 0)
        if (feeds[--n] == feed)
            return true;
    return false;
}

/* Names the runs that take the most, largest first. user NULL: of all users. */
#define N_NAMED 3

static void name_takers(const struct leat_feeds *feeds, const struct leat_budget_user *user,
                        char *text, size_t size) {
    const struct leat_feed *named[N_NAMED] = {NULL};
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < N_NAMED; i++) {
        const struct leat_feed *largest = NULL;

        for (const struct leat_feed *feed = feeds->first; feed; feed = feed->next)
            if ((!user || feed->account.user == user) && !is_among(named, i, feed) &&
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

static uint32_t count_feeds(const struct leat_feeds *feeds, const struct leat_budget_user *user) {
    uint32_t n = 0;

    for (const struct leat_feed *feed = feeds->first; feed; feed = feed->next)
        n += !user || feed->account.user == user;
    return n;
}

/* True if the user's part is what the bytes do not fit into, and not all memory. */
static bool is_part_short(const struct leat_budget_user *user, uint64_t bytes) {
    const struct leat_budget *budget = user->budget;

    return !leat_budget_user_has_part(user, bytes) &&
           leat_budget_user_limit(user) < budget->limit_bytes - budget->own_bytes;
}

static void describe_limit(const struct leat_budget_user *user, bool is_part, char *text,
                           size_t size) {
    if (is_part)
        (void)snprintf(text, size,
                       "this user's share of memory_limit (%.1f of %.1f MiB; max_user_memory)",
                       MIB(leat_budget_user_limit(user)), MIB(user->budget->limit_bytes));
    else
        (void)snprintf(text, size, "memory_limit (%.1f MiB)", MIB(user->budget->limit_bytes));
}

static int refuse_run(const struct leat_feeds *feeds, struct leat_user *user,
                      const struct leat_admission *admission, struct leat_error *err) {
    const struct leat_memory_plan *memory = &admission->memory;
    const struct leat_budget *budget = feeds->env->budget;
    uint64_t ring = ring_bytes(memory, admission->n_slots);
    uint64_t least = leat_memory_plan_least(memory) + ring;
    bool is_part = is_part_short(&user->memory, least);
    const struct leat_budget_user *taker = is_part ? &user->memory : NULL;
    char limit[128], takers[256], base[64] = "", slot[LEAT_SHOW_BYTES_MAX];

    leat_user_count_refusal(user);
    describe_limit(&user->memory, is_part, limit, sizeof(limit));
    name_takers(feeds, taker, takers, sizeof(takers));
    if (!is_part)
        (void)snprintf(base, sizeof(base), "%.1f for the daemon itself, ", MIB(budget->own_bytes));
    /* The names come last, since a longer text is cut. */
    return leat_error_set(
        err, -ENOMEM,
        "the stream does not fit into %s: it needs at least %.1f MiB (ring %.1f: %u slots of %s; "
        "blocks %.1f; order stages such as shuffle %.1f; tokenizers and files %.1f; workspace "
        "%.1f), but only %.1f MiB are free: %s. In use (MiB): %s%.1f for %u runs of streams%s",
        limit, MIB(least), MIB(ring), admission->n_slots, leat_show_bytes(memory->slot_bytes, slot),
        MIB(memory->n_min_blocks * memory->block_bytes + memory->scratch_bytes +
            memory->decoder_bytes),
        MIB(memory->order_bytes), MIB(memory->loaded_bytes), MIB(memory->workspace_bytes),
        MIB(leat_budget_user_free_bytes(&user->memory)),
        advice_on(memory, ring, least, leat_budget_user_limit(&user->memory)), base,
        MIB(is_part ? user->memory.claimed_bytes : budget->claimed_bytes - budget->own_bytes),
        count_feeds(feeds, taker), takers);
}

/* The most that copies of `window` batches take, compressed. */
static uint64_t copies_bytes(const struct leat_plan *plan, uint32_t window) {
    return window * (uint64_t)(plan->slot_bytes + plan->slot_bytes / 255 + 64);
}

/* The lanes of other machines' ranks stay empty. */
static void plan_memory(const struct leat_plan *plan, const struct leat_run_options *options,
                        uint32_t window, struct leat_memory_plan *ret_memory) {
    leat_memory_plan_of_lanes(plan, leat_idle_lanes_expect_busy(plan, options), window, ret_memory);
}

static uint64_t least_bytes(const struct leat_plan *plan, const struct leat_run_options *options,
                            uint32_t window, struct leat_memory_plan *ret_memory) {
    plan_memory(plan, options, window, ret_memory);
    return leat_memory_plan_least(ret_memory) + ring_bytes(ret_memory, ret_memory->n_min_slots);
}

uint64_t leat_admission_wait_bytes(const struct leat_budget_user *user,
                                   const struct leat_plan *plan,
                                   const struct leat_run_options *options, uint32_t window,
                                   bool has_copies, uint64_t *ret_loaded) {
    struct leat_memory_plan memory;
    uint64_t bytes =
        least_bytes(plan, options, window, &memory) + (has_copies ? copies_bytes(plan, window) : 0);

    *ret_loaded = memory.loaded_bytes;
    return bytes > leat_budget_user_free_bytes(user) && bytes <= leat_budget_user_limit(user)
               ? bytes
               : 0;
}

bool leat_admission_fits(const struct leat_budget_user *user, const struct leat_plan *plan,
                         const struct leat_run_options *options, uint32_t window) {
    struct leat_memory_plan memory;

    return least_bytes(plan, options, window, &memory) <= leat_budget_user_free_bytes(user);
}

int leat_admission_open(struct leat_feeds *feeds, struct leat_user *user,
                        const struct leat_plan *plan, const struct leat_run_options *options,
                        uint32_t window, struct leat_admission *ret_admission,
                        struct leat_error *err) {
    struct leat_memory_plan *memory = &ret_admission->memory;
    uint32_t n_max;

    plan_memory(plan, options, window, memory);
    n_max = memory->n_slots < LEAT_RING_MAX_SLOTS ? memory->n_slots : LEAT_RING_MAX_SLOTS;
    ret_admission->n_min_slots = memory->n_min_slots < n_max ? memory->n_min_slots : n_max;
    ret_admission->n_slots = choose_slots(&user->memory, memory, ret_admission->n_min_slots, n_max);
    ret_admission->guaranteed_bytes =
        feeds->env->budget->limit_bytes == UINT64_MAX
            ? 0
            : leat_memory_plan_least(memory) + ring_bytes(memory, ret_admission->n_slots);
    if (leat_account_open_of(&ret_admission->account, &user->memory,
                             ret_admission->guaranteed_bytes) == 0)
        return 0;
    return refuse_run(feeds, user, ret_admission, err);
}

int leat_admission_open_copies(struct leat_user *user, const struct leat_plan *plan,
                               uint32_t window, struct leat_account *account,
                               struct leat_error *err) {
    uint64_t bytes = copies_bytes(plan, window);
    char limit[128];

    if (leat_account_open_of(account, &user->memory,
                             user->memory.budget->limit_bytes == UINT64_MAX ? 0 : bytes) == 0)
        return 0;
    leat_user_count_refusal(user);
    describe_limit(&user->memory, is_part_short(&user->memory, bytes), limit, sizeof(limit));
    return leat_error_set(err, -ENOMEM,
                          "copies of the stream's batches do not fit into %s: they may take %.1f "
                          "MiB (%u copies of %.2f MiB), but only %.1f MiB are free. Lower `window` "
                          "or the batch size, or raise memory_limit",
                          limit, MIB(bytes), window, MIB(plan->slot_bytes),
                          MIB(leat_budget_user_free_bytes(&user->memory)));
}

int leat_admission_refuse_growth(struct leat_user *user, const char *what, uint64_t bytes,
                                 struct leat_error *err) {
    char limit[128];

    leat_user_count_refusal(user);
    describe_limit(&user->memory, is_part_short(&user->memory, bytes), limit, sizeof(limit));
    return leat_error_set(err, -ENOMEM,
                          "the daemon needs %.1f MiB for %s, but only %.1f MiB are free in %s",
                          MIB(bytes), what, MIB(leat_budget_user_free_bytes(&user->memory)), limit);
}

/* ---- plans ---- */

/* Claims what it needs while it is built, or all that is free if that is less. */
static void start_loading(struct leat_loading *loading, struct leat_feeds *feeds) {
    uint64_t need = loading->need_bytes ? loading->need_bytes : LOADING_BYTES;

    loading->free_bytes = leat_budget_user_free_bytes(loading->memory);
    loading->room_bytes = need < loading->free_bytes ? need : loading->free_bytes;
    (void)leat_account_open_of(&loading->account, loading->memory, loading->room_bytes);
    leat_scheduler_add(feeds->env->scheduler, loading->queue, loading->task);
}

static void on_room(struct leat_feeds *feeds, struct leat_memory_wait *wait) {
    start_loading(LEAT_CONTAINER_OF(wait, struct leat_loading, wait), feeds);
}

void leat_loading_start(struct leat_feeds *feeds, struct leat_loading *loading,
                        struct leat_user *user, struct leat_task *task) {
    *loading = (struct leat_loading){
        .task = task,
        .memory = user ? &user->memory : &feeds->operator_memory,
        .queue = user ? &user->queue : &feeds->env->scheduler->others,
        .deadline_ns = leat_memory_wait_deadline_ns(),
    };
    start_loading(loading, feeds);
}

bool leat_loading_again(struct leat_feeds *feeds, struct leat_loading *loading) {
    struct leat_budget_user *user = loading->memory;

    if (loading->need_bytes <= loading->room_bytes || feeds->env->is_stopping)
        return false;
    leat_account_close(&loading->account);
    if (loading->need_bytes > leat_budget_user_limit(user) || leat_now_ns() >= loading->deadline_ns)
        return false;
    leat_memory_wait_start(feeds, &loading->wait, user, loading->need_bytes, loading->deadline_ns,
                           on_room);
    return true;
}

void leat_loading_release(struct leat_loading *loading) {
    leat_account_close(&loading->account);
}

int leat_loading_check(struct leat_loading *loading, const struct leat_spec *spec,
                       struct leat_error *err) {
    loading->need_bytes = leat_memory_plan_load(spec);
    if (loading->need_bytes <= loading->room_bytes)
        return 0;
    return leat_error_set(err, -ENOMEM,
                          "streams.%s: the daemon needs %.1f MiB while it loads the files of this "
                          "stream, but memory_limit (%.1f MiB) leaves only %.1f MiB for this user",
                          spec->name, MIB(loading->need_bytes),
                          MIB(loading->account.budget->limit_bytes), MIB(loading->free_bytes));
}
