/* test_fair.c: shares of servers in made-up worlds: weights, lengths, how many servers, who wants
 * when are random; time is a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/schedule/fair.h"

enum { N_MOST = 6, N_SERVERS_MOST = 5, LONGEST = 1000 };

struct user {
    struct leat_fair_share share;
    uint64_t used, estimate; /* done and under way, all of it */
    uint64_t longest;        /* that it has */
    bool wants;
};

struct server {
    struct user *user; /* NULL: idle */
    uint64_t end, charge, taken;
};

static struct {
    struct leat_fair fair;
    struct user users[N_MOST];
    struct server servers[N_SERVERS_MOST];
    unsigned n_users, n_servers;
    uint64_t now;
    uint32_t seed;
} world;

static uint32_t any(uint32_t below) {
    world.seed = world.seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)(world.seed >> 8) * below) >> 24);
}

static void make(uint32_t seed, uint64_t tag) {
    memset(&world, 0, sizeof(world));
    world.seed = seed;
    world.n_users = 2 + any(N_MOST - 1);
    world.n_servers = 1 + any(N_SERVERS_MOST);
    world.fair.now = tag;
    for (unsigned i = 0; i < world.n_users; i++)
        world.users[i] = (struct user){.share = {.tag = tag, .weight = 1 + any(4)},
                                       .longest = 1 + any(LONGEST),
                                       .wants = true};
}

static struct user *next(void) {
    struct user *least = NULL;

    for (unsigned i = 0; i < world.n_users; i++)
        if (world.users[i].wants &&
            (!least || leat_fair_is_before(&world.users[i].share, &least->share)))
            least = &world.users[i];
    return least;
}

/* The estimate is of the piece before, as good or bad as that is. */
static void serve(struct server *server) {
    struct user *user = next();

    if (!user)
        return;
    *server = (struct server){.user = user, .taken = 1 + any((uint32_t)user->longest)};
    server->end = world.now + server->taken;
    server->charge =
        leat_fair_begin(&world.fair, &user->share, user->estimate ? user->estimate : 1);
}

static void finish(struct server *server) {
    struct user *user = server->user;

    leat_fair_end(&user->share, server->charge, server->taken);
    user->used += server->taken;
    user->estimate = server->taken;
    server->user = NULL;
}

/* To the next end of a piece; each idle server is given one. */
static void step(void) {
    struct server *first = NULL;

    for (unsigned i = 0; i < world.n_servers; i++) {
        struct server *server = &world.servers[i];

        if (!server->user)
            serve(server);
        if (server->user && (!first || server->end < first->end))
            first = server;
    }
    if (!first)
        return;
    world.now = first->end;
    finish(first);
}

/* What two may differ by, each over its weight: what both may have under way, twice. */
static uint64_t bound(const struct user *a, const struct user *b) {
    return 2 * (world.n_servers + 1) * (LONGEST / a->share.weight + LONGEST / b->share.weight + 2);
}

static void expect_fair(const uint64_t before[N_MOST]) {
    for (unsigned i = 0; i < world.n_users; i++)
        for (unsigned j = 0; j < i; j++) {
            const struct user *a = &world.users[i], *b = &world.users[j];
            uint64_t x = (a->used - before[i]) / a->share.weight;
            uint64_t y = (b->used - before[j]) / b->share.weight;

            if (a->wants && b->wants && (x > y ? x - y : y - x) > bound(a, b))
                fail_msg("seed %u: user %u of weight %u got %llu, user %u of %u got %llu",
                         world.seed, i, a->share.weight, (unsigned long long)(a->used - before[i]),
                         j, b->share.weight, (unsigned long long)(b->used - before[j]));
        }
}

/* All want something all the time: at any moment they have had what their weights say; also where
 * tags overflow. */
static void test_shares(void **state) {
    static const uint64_t none[N_MOST];

    (void)state;
    for (uint32_t seed = 1; seed < 200; seed++) {
        make(seed, seed % 2 ? 0 : UINT64_MAX - 50000);
        for (int i = 0; i < 2000; i++) {
            step();
            expect_fair(none);
        }
    }
}

/* Some come and go: since the last of them came back, what each had is what its weight says.
 * Whoever was away is owed nothing. */
static void test_coming_back(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 200; seed++) {
        uint64_t before[N_MOST];

        make(seed, 0);
        for (int round = 0; round < 6; round++) {
            for (unsigned i = 0; i < world.n_users; i++) {
                bool wants = round % 2 || any(2);

                if (wants && !world.users[i].wants)
                    leat_fair_enter(&world.fair, &world.users[i].share);
                world.users[i].wants = wants;
                before[i] = world.users[i].used;
            }
            for (int i = 0; i < 300; i++) {
                step();
                expect_fair(before);
            }
        }
    }
}

/* However many one has, who comes anew is served with one of the next pieces. */
static void test_nobody_waits(void **state) {
    (void)state;
    make(7, 0);
    world.n_users = 2;
    world.n_servers = 1;
    world.users[1].wants = false;
    for (int i = 0; i < 1000; i++)
        step();
    leat_fair_enter(&world.fair, &world.users[1].share);
    world.users[1].wants = true;
    for (int i = 0; i < 3; i++)
        step();
    assert_true(world.users[1].used > 0);
}

/* A weight that changes while pieces are under way: the estimate goes back as it was charged. */
static void test_weight_changes(void **state) {
    static const uint32_t weights[] = {1, 1000, 1, 7};

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(weights) / sizeof(weights[0]); i++) {
        struct leat_fair fair = {.now = 0};
        struct leat_fair_share share = {.tag = 50, .weight = weights[i]};
        uint64_t first = leat_fair_begin(&fair, &share, 1000000);
        uint64_t second = leat_fair_begin(&fair, &share, 3000000);

        share.weight = weights[i + 1];
        leat_fair_end(&share, first, 7000);
        leat_fair_end(&share, second, 0);
        assert_int_equal(share.tag, 50 + 7000 / weights[i + 1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_coming_back),
        cmocka_unit_test(test_nobody_waits),
        cmocka_unit_test(test_weight_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
