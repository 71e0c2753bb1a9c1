/* test_admission.c: who waits for memory gets it in order, and holds up no more than that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/stream/admission.h"
#include "daemon/stream/feeds.h"

#define LIMIT 1000

struct waiter {
    struct leat_memory_wait wait; /* the first member */
    bool is_done;
};

static struct {
    struct leat_budget budget;
    struct leat_env env;
    struct leat_feeds feeds;
    struct leat_budget_user a, b, other;
} world;

static int set_up(void **state) {
    (void)state;
    leat_budget_init(&world.budget, LIMIT);
    world.env = (struct leat_env){.budget = &world.budget};
    world.feeds = (struct leat_feeds){.env = &world.env};
    leat_budget_user_init(&world.a, &world.budget);
    leat_budget_user_init(&world.b, &world.budget);
    leat_budget_user_init(&world.other, &world.budget);
    return 0;
}

static void on_memory(struct leat_feeds *feeds, struct leat_memory_wait *wait) {
    assert_ptr_equal(feeds, &world.feeds);
    ((struct waiter *)wait)->is_done = true;
}

static void begin(struct waiter *waiter, struct leat_budget_user *user, uint64_t bytes) {
    waiter->is_done = false;
    leat_memory_wait_start(&world.feeds, &waiter->wait, user, bytes, UINT64_MAX, on_memory);
}

/* Small requests may not keep a large one waiting for ever, whoever makes them. */
static void test_order(void **state) {
    struct leat_budget_user *users[] = {&world.a, &world.b};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct leat_account account;
        struct waiter first, second;

        assert_int_equal(leat_account_open_of(&account, &world.other, LIMIT - 100), 0);
        begin(&first, &world.a, 500);
        begin(&second, users[i], 50);
        leat_memory_waits_check(&world.feeds);
        assert_false(first.is_done || second.is_done);
        assert_int_equal(leat_account_guarantee(&account, LIMIT - 500), 0);
        leat_memory_waits_check(&world.feeds);
        assert_true(first.is_done && second.is_done);
        leat_account_close(&account);
    }
}

/* Nobody else can give a user more than its part, so nobody else waits for that. */
static void test_more_than_a_part(void **state) {
    struct leat_account account;
    struct waiter first, own, other;

    (void)state;
    world.budget.is_shared = true;
    assert_int_equal(leat_account_open_of(&account, &world.a, LIMIT / 2 - 100), 0);
    begin(&first, &world.a, 200);
    begin(&own, &world.a, 50);
    begin(&other, &world.b, 50);
    assert_int_equal(world.budget.wanted_bytes, 50);
    assert_int_equal(world.a.wanted_bytes, 200);
    leat_memory_waits_check(&world.feeds);
    assert_false(first.is_done || own.is_done);
    assert_true(other.is_done);
    leat_memory_wait_cancel(&world.feeds, &first.wait);
    leat_memory_waits_check(&world.feeds);
    assert_true(own.is_done);
    leat_account_close(&account);
}

/* Others make no room any more for who waits no more. */
static void test_cancelled(void **state) {
    struct waiter small, large;

    (void)state;
    begin(&small, &world.a, LIMIT + 1);
    begin(&large, &world.a, LIMIT + 2);
    assert_int_equal(world.a.wanted_bytes, LIMIT + 2);
    leat_memory_wait_cancel(&world.feeds, &large.wait);
    assert_int_equal(world.a.wanted_bytes, LIMIT + 1);
    leat_memory_wait_cancel(&world.feeds, &small.wait);
    leat_memory_wait_cancel(&world.feeds, &small.wait);
    assert_int_equal(world.a.wanted_bytes, 0);
    assert_int_equal(world.budget.wanted_bytes, 0);
    assert_int_equal(world.budget.n_users, 0);
    assert_false(small.is_done || large.is_done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, set_up),
        cmocka_unit_test_setup(test_more_than_a_part, set_up),
        cmocka_unit_test_setup(test_cancelled, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
