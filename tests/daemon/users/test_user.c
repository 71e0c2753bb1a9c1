/* Accounts against a plain model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "daemon/users/user.h"

static const struct leat_limits limits = {
    .user = {4, 1000, 2, 3},
    .total = {6, 1500, 3, 4},
    .is_shared = {true, false, true, false},
};

static struct leat_budget budget;

static void test_against_model(void **state) {
    enum { N = 3 };
    struct leat_users users;
    struct leat_user *accounts[N];
    uint64_t used[N][LEAT_N_CHARGES] = {{0}}, n_refused = 0;
    unsigned seed = 7;

    (void)state;
    leat_users_init(&users, &limits, &budget);
    for (unsigned i = 0; i < N; i++)
        accounts[i] = leat_users_get(&users, 1000 + i);
    for (int i = 0; i < 50000; i++) {
        unsigned who, what;
        uint64_t amount, total = 0;
        bool fits;

        seed = seed * 1664525 + 1013904223;
        who = (seed >> 8) % N;
        what = (seed >> 16) % LEAT_N_CHARGES;
        amount = what == LEAT_CHARGE_RING_BYTES ? (seed >> 20) % 700 : 1;
        if (seed & 0x80000000) {
            if (amount <= used[who][what]) {
                leat_user_discharge(accounts[who], (enum leat_charge)what, amount);
                used[who][what] -= amount;
            }
            continue;
        }
        for (unsigned j = 0; j < N; j++)
            total += used[j][what];
        fits = used[who][what] + amount <= limits.user[what] &&
               total + amount <= limits.total[what] &&
               (!limits.is_shared[what] ||
                used[who][what] + amount <= limits.total[what] - total - amount + 1);
        struct leat_error err = LEAT_ERROR_INIT;
        int r = leat_user_charge(accounts[who], (enum leat_charge)what, amount, &err);

        assert_int_equal(r, fits ? 0 : -EDQUOT);
        if (fits)
            used[who][what] += amount;
        else
            assert_int_equal(users.n_refused, ++n_refused);
    }
    for (unsigned i = 0; i < N; i++) {
        for (int j = 0; j < LEAT_N_CHARGES; j++)
            leat_user_discharge(accounts[i], (enum leat_charge)j, used[i][j]);
        leat_user_unref(accounts[i]);
    }
    leat_users_deinit(&users);
}

static void test_huge_amounts(void **state) {
    struct leat_users users;
    struct leat_user *user;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    leat_users_init(&users, &limits, &budget);
    user = leat_users_get(&users, 0);
    assert_int_equal(leat_user_charge(user, LEAT_CHARGE_RING_BYTES, 1000, &err), 0);
    assert_int_equal(leat_user_charge(user, LEAT_CHARGE_RING_BYTES, UINT64_MAX, &err), -EDQUOT);
    assert_non_null(strstr(err.message, "max_user_ring_bytes"));
    leat_user_discharge(user, LEAT_CHARGE_RING_BYTES, 1000);
    leat_user_unref(user);
    leat_users_deinit(&users);
}

/* One that takes all it can leaves the others what they may have. */
static void test_users_are_apart(void **state) {
    struct leat_users users;
    struct leat_user *greedy, *other;

    (void)state;
    leat_users_init(&users, &limits, &budget);
    greedy = leat_users_get(&users, 1);
    other = leat_users_get(&users, 2);
    assert_ptr_equal(leat_users_get(&users, 2), other);
    leat_user_unref(other);
    while (leat_user_charge(greedy, LEAT_CHARGE_SESSIONS, 1, LEAT_ERROR_IGNORED) == 0)
        ;
    assert_int_equal(leat_user_charge(other, LEAT_CHARGE_SESSIONS, 1, LEAT_ERROR_IGNORED), 0);
    leat_user_discharge(greedy, LEAT_CHARGE_SESSIONS, greedy->used[LEAT_CHARGE_SESSIONS]);
    leat_user_discharge(other, LEAT_CHARGE_SESSIONS, 1);
    leat_user_unref(greedy);
    leat_user_unref(other);
    leat_users_deinit(&users);
}

/* One after the other takes all it can: each gets half of what is left, more than nothing for as
 * long as there is anything, and none gets all. */
static void test_shares(void **state) {
    struct leat_limits all = {.user = {1000}, .total = {100}, .is_shared = {true}};
    uint64_t left = 100;
    struct leat_users users;
    struct leat_user *accounts[8];
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    leat_users_init(&users, &all, &budget);
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t n = 0;

        accounts[i] = leat_users_get(&users, i);
        while (leat_user_charge(accounts[i], LEAT_CHARGE_SESSIONS, 1, LEAT_ERROR_IGNORED) == 0)
            n++;
        assert_int_equal(n, (left + 1) / 2);
        assert_int_equal(accounts[i]->n_refused, 1);
        left -= n;
        if (i > 0)
            continue;
        assert_int_equal(leat_user_charge(accounts[0], LEAT_CHARGE_SESSIONS, 1, &err), -EDQUOT);
        assert_string_equal(err.message,
                            "this user has 50 sessions and needs 1 more. Only 49 of 100 "
                            "(max_sessions) would then be left for other users. To allow this, set "
                            "max_user_sessions to the value of max_sessions");
    }
    assert_int_equal(leat_user_charge(accounts[7], LEAT_CHARGE_SESSIONS, 1, &err), -EDQUOT);
    assert_non_null(strstr(err.message, "max_sessions"));
    for (uint32_t i = 0; i < 8; i++) {
        leat_user_discharge(accounts[i], LEAT_CHARGE_SESSIONS,
                            accounts[i]->used[LEAT_CHARGE_SESSIONS]);
        leat_user_unref(accounts[i]);
    }
    leat_users_deinit(&users);
}

static void test_weights(void **state) {
    static const struct leat_weight weights[] = {{1000, 5}, {0, 2}};
    struct leat_users users;
    struct leat_user *named, *other;

    (void)state;
    leat_users_init(&users, &limits, &budget);
    leat_users_set_weights(&users, weights, 2);
    named = leat_users_get(&users, 1000);
    other = leat_users_get(&users, 1001);
    assert_int_equal(named->tasks.share.weight, 5);
    assert_int_equal(other->tasks.share.weight, 1);
    leat_users_set_weights(&users, NULL, 0);
    assert_int_equal(named->tasks.share.weight, 1);
    leat_user_unref(named);
    leat_user_unref(other);
    leat_users_deinit(&users);
}

/* Who leaves and comes again owes what it owed; of more than are kept the oldest are forgiven. */
static void test_debts_are_kept(void **state) {
    struct leat_users users;
    struct leat_user *user;

    (void)state;
    leat_users_init(&users, &limits, &budget);
    for (uint32_t uid = 0; uid <= LEAT_USERS_MAX_DEBTS; uid++) {
        user = leat_users_get(&users, uid);
        assert_int_equal(user->looking_ns, 0);
        user->looking_ns = uid + 1;
        user->looked_at_ns = 5;
        leat_user_unref(user);
    }
    for (uint32_t uid = 0; uid <= LEAT_USERS_MAX_DEBTS; uid++) {
        user = leat_users_get(&users, uid);
        assert_int_equal(user->looking_ns, uid == 0 ? 0 : uid + 1);
        assert_int_equal(user->looked_at_ns, uid == 0 ? 0 : 5);
        user->looking_ns = 0; /* paid */
        leat_user_unref(user);
        user = leat_users_get(&users, uid);
        assert_int_equal(user->looking_ns, 0);
        leat_user_unref(user);
    }
    leat_users_deinit(&users);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),   cmocka_unit_test(test_huge_amounts),
        cmocka_unit_test(test_users_are_apart), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_weights),         cmocka_unit_test(test_debts_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
