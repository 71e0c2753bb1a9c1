/* test_broadcast_model.c: the broadcast in all orders of events in small worlds, and in many orders
 * in larger ones.
 *
 * Small worlds are explored depth first; states that were met are known by their hash. In every
 * state the world is checked: no batch is lost, doubled, out of order, or overwritten while it is
 * read or wanted, and nothing is released that is not held. In many states it is also checked that
 * each trainer gets all that it wants while the others are stopped, that each one that waits gets
 * its batch though none is given back, and that nothing is left when all have gone.
 *
 * A Promela model of an earlier protocol (one sender, slots, a generation for each life of the
 * daemon; consumers that crash, stall, lie) has the same assertions and these mutants: releases
 * without generation or step, no quarantine, memory used again in place. This model adds several
 * runs, ranks, positions, epochs, limits, and rings without room. It takes packets as received at
 * once: the order of packets of one connection is kept, and those of different ones commute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/daemon/shared_world.h"

#define TABLE_BITS 18
#if defined(__SANITIZE_ADDRESS__) && !defined(MAX_STATES)
#define MAX_STATES (UINT64_C(1) << 14) /* states are many, and their code is little */
#define N_WALKS    150
#elif !defined(MAX_STATES)
#define MAX_STATES (UINT64_C(1) << 17)
#endif
#ifndef N_WALKS
#define N_WALKS 1200
#endif
#define MAX_DEPTH 160
#define MAX_WALK  400
#define ONE_IN    8 /* states are looked at from all sides */

#define CASE(n, slots, world, local, steps)                                                        \
    .n_trainers = (n), .n_slots = (slots), .world_size = (world), .n_local = (local),              \
    .n_steps = (steps)

/* Trainers: window, rank, epoch, step, n_epochs, n_left. */
static const struct world_case small_cases[] = {
    {.name = "one",
     CASE(1, 4, 1, 1, 3),
     .trainers = {{2, 0, 0, 0, 2, 0}},
     .n_losses = 1,
     .n_crashes = 1,
     .n_refusals = 1,
     .is_slow = true},
    {.name = "two",
     CASE(2, 4, 1, 1, 3),
     .trainers = {{1, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0}},
     .n_losses = 1,
     .n_refusals = 1},
    {.name = "border", CASE(2, 5, 1, 1, 2), .trainers = {{1, 0, 0, 0, 2, 0}, {1, 0, 0, 1, 2, 0}}},
    {.name = "crash",
     CASE(2, 4, 1, 1, 2),
     .trainers = {{1, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0}},
     .n_losses = 1,
     .n_crashes = 1},
    {.name = "limits",
     CASE(2, 5, 1, 1, 2),
     .trainers = {{1, 0, 0, 0, 0, 3}, {1, 0, 0, 1, 0, 1}},
     .n_refusals = 1},
    {.name = "fault",
     CASE(2, 5, 1, 1, 4),
     .trainers = {{1, 0, 0, 0, 1, 0}, {1, 0, 0, 1, 1, 0}},
     .fail_step = 3,
     .n_losses = 1},
    {.name = "ranks",
     CASE(2, 4, 2, 2, 4),
     .trainers = {{1, 0, 0, 0, 1, 0}, {1, 1, 0, 1, 1, 0}},
     .n_losses = 1,
     .n_refusals = 1},
    {.name = "promise",
     CASE(2, 3, 1, 1, 5),
     .trainers = {{2, 0, 0, 0, 1, 0}, {2, 0, 0, 0, 1, 0}},
     .n_promised = 8},
    {.name = "absent", CASE(2, 2, 4, 4, 8), .trainers = {{1, 3, 0, 3, 1, 0}, {1, 0, 0, 0, 1, 0}}},
};
static const struct world_case large_cases[] = {
    {.name = "apart",
     CASE(2, 8, 1, 1, 12),
     .trainers = {{1, 0, 0, 0, 2, 0}, {1, 0, 0, 2, 2, 0}},
     .n_losses = 1,
     .n_refusals = 2},
    {.name = "three",
     CASE(3, 8, 1, 1, 20),
     .trainers = {{1, 0, 0, 0, 2, 0}, {1, 0, 0, 0, 1, 0}, {1, 0, 0, 3, 2, 30}},
     .n_losses = 1},
    {.name = "ranks",
     CASE(3, 8, 2, 2, 16),
     .trainers = {{1, 0, 0, 0, 2, 0}, {1, 1, 0, 1, 2, 0}, {1, 1, 0, 5, 2, 0}},
     .n_losses = 1,
     .n_refusals = 1},
    {.name = "far", CASE(2, 10, 2, 2, 60), .trainers = {{1, 0, 0, 0, 2, 0}, {1, 1, 0, 1, 2, 0}}},
    {.name = "near",
     CASE(3, 16, 1, 1, 30),
     .trainers = {{1, 0, 0, 0, 1, 0}, {1, 0, 0, 3, 1, 0}, {1, 0, 0, 6, 1, 8}},
     .n_losses = 1},
    {.name = "behind",
     CASE(2, 16, 2, 1, 60),
     .trainers = {{1, 0, 0, 0, 1, 0}, {1, 0, 0, 4, 1, 10}},
     .n_losses = 1},
    {.name = "windows",
     CASE(2, 8, 1, 1, 12),
     .trainers = {{2, 0, 0, 0, 2, 0}, {1, 0, 0, 1, 2, 0}},
     .n_crashes = 1,
     .is_slow = true},
    {.name = "strangers",
     CASE(3, 7, 2, 1, 8),
     .trainers = {{1, 0, 0, 0, 2, 0}, {1, 1, 0, 1, 1, 0}, {1, 1, 0, 3, 1, 0}}},
    {.name = "tight",
     CASE(3, 4, 1, 1, 12),
     .trainers = {{1, 0, 0, 0, 1, 0}, {2, 0, 0, 0, 1, 0}, {2, 0, 0, 0, 1, 0}},
     .n_losses = 1},
    {.name = "fault",
     CASE(3, 8, 2, 2, 16),
     .trainers = {{1, 0, 0, 0, 0, 0}, {1, 1, 0, 1, 0, 0}, {1, 0, 0, 2, 0, 0}},
     .fail_epoch = 1,
     .fail_step = 6},
};

static uint64_t *table;
static uint64_t n_states;
static struct world world;
static const struct world_event *trail[MAX_WALK];

/* Whether the state is new; there is room for it. */
static bool add_state(uint64_t hash) {
    uint64_t at = hash >> (64 - TABLE_BITS), mask = (UINT64_C(1) << TABLE_BITS) - 1;

    hash |= 1;
    for (; table[at & mask]; at++)
        if (table[at & mask] == hash)
            return false;
    if (n_states == MAX_STATES)
        return false;
    table[at & mask] = hash;
    n_states++;
    return true;
}

static void report(const char *wrong, uint32_t depth) {
    static const char *const names[WORLD_N_KINDS] = {"join",    "make", "pump",    "take",
                                                     "quietly", "tell", "release", "retry",
                                                     "lose",    "die",  "crash"};

    for (uint32_t i = 0; i < depth; i++)
        (void)fprintf(stderr, "  %s %u %u%s%s\n", names[trail[i]->kind], trail[i]->of,
                      trail[i]->which, trail[i]->refuses_start ? " no start" : "",
                      trail[i]->refuses_room ? " no room" : "");
    fail_msg("%s: %s", world.it->name, wrong);
}

static void check(uint32_t depth, uint64_t hash) {
    const char *wrong = world_check(&world);
    struct world before;

    if (wrong)
        report(wrong, depth);
    if (hash % ONE_IN != 0)
        return;
    before = world;
    for (uint32_t i = 0; !wrong && i < world.it->n_trainers; i++) {
        wrong = world_check_alone(&world, i);
        world = before;
    }
    if (!wrong)
        wrong = world_check_waiting(&world);
    world = before;
    if (!wrong)
        wrong = world_check_end(&world);
    world = before;
    if (wrong)
        report(wrong, depth);
}

static void explore(uint32_t depth) {
    struct world_event events[WORLD_MAX_EVENTS];
    struct world before = world;
    uint32_t n = world_events(&world, events);

    for (uint32_t i = 0; i < n && depth < MAX_DEPTH; i++) {
        const char *wrong;
        uint64_t hash;
        bool is_void;

        trail[depth] = &events[i];
        wrong = world_step(&world, &events[i], &is_void);
        if (wrong)
            report(wrong, depth + 1);
        hash = world_hash(&world);
        if (!is_void && add_state(hash)) {
            check(depth + 1, hash);
            explore(depth + 1);
        }
        world = before;
    }
}

static void test_all_orders(void **state) {
    (void)state;
    table = calloc(UINT64_C(1) << TABLE_BITS, sizeof(*table));
    assert_non_null(table);
    for (size_t i = 0; i < sizeof(small_cases) / sizeof(small_cases[0]); i++) {
        memset(table, 0, (UINT64_C(1) << TABLE_BITS) * sizeof(*table));
        n_states = 0;
        world_init(&world, &small_cases[i]);
        explore(0);
        print_message("%-8s %llu states\n", small_cases[i].name, (unsigned long long)n_states);
    }
    free(table);
}

/* ---- at random ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    return (*seed ^ *seed >> 31) * UINT64_C(0xbf58476d1ce4e5b9) >> 33;
}

/* Whether it is to happen now: those of a trainer that is slow for a while are rare, and so are
 * losses and crashes, of which there are few. */
static bool is_due(const struct world_event *event, uint64_t *seed, uint32_t slow) {
    if (event->kind == WORLD_LOSE || event->kind == WORLD_CRASH)
        return next_random(seed) % 64 == 0;
    return event->of != slow || (event->kind != WORLD_RELEASE && event->kind != WORLD_TAKE) ||
           next_random(seed) % 8 == 0;
}

static uint32_t choose(const struct world_event *events, uint32_t n, uint64_t *seed,
                       uint32_t slow) {
    uint32_t at = 0;

    for (int i = 0; i < 64; i++) {
        at = (uint32_t)(next_random(seed) % n);
        if (is_due(&events[at], seed, slow))
            break;
    }
    return at;
}

static void walk(const struct world_case *it, uint64_t seed) {
    static struct world_event events[MAX_WALK][WORLD_MAX_EVENTS];
    uint32_t slow = 0;

    world_init(&world, it);
    for (uint32_t depth = 0; depth < MAX_WALK; depth++) {
        uint32_t n = world_events(&world, events[depth]), at;
        struct world before = world;
        const char *wrong;
        bool is_void;

        if (n == 0)
            return;
        if (depth % 40 == 0)
            slow = (uint32_t)(next_random(&seed) % (it->n_trainers + 1));
        at = choose(events[depth], n, &seed, slow);
        trail[depth] = &events[depth][at];
        wrong = world_step(&world, &events[depth][at], &is_void);
        if (wrong)
            report(wrong, depth + 1);
        if (is_void)
            world = before;
        else
            check(depth + 1, next_random(&seed));
    }
}

static void test_at_random(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < N_WALKS; seed++)
        for (size_t i = 0; i < sizeof(large_cases) / sizeof(large_cases[0]); i++)
            walk(&large_cases[i], seed << 8 | i);
}

/* What the cases are for did happen. */
static void test_not_vacuous(void **state) {
    (void)state;
    assert_true(world_counts.n_starts > 1000);
    assert_true(world_counts.n_shared > 1000);
    assert_true(world_counts.n_moves > 100);
    assert_true(world_counts.n_detached > 100);
    assert_true(world_counts.n_kept > 100);
    assert_true(world_counts.n_quarantined > 100);
    assert_true(world_counts.n_failed > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_random),
        cmocka_unit_test(test_all_orders),
        cmocka_unit_test(test_not_vacuous),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
