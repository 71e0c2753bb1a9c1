/* test_control_pace.c: whatever a peer makes the loop do is paid by its user; those that rest go on
 * in turns. The test turns the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "proto/base/clock.h"
#include "tests/daemon/shared_stepped.h"

#define N_TURNS 50

static struct leat_control *connect_control(struct leat_daemon *daemon, int *ret_fd) {
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(leat_control_accept(&daemon->controls, ends[0]), 0);
    *ret_fd = ends[1];
    return daemon->controls.first;
}

static void set_debt(struct leat_user *user, uint64_t looking_ns) {
    user->looking_ns = looking_ns;
    user->looked_at_ns = leat_now_ns();
}

static void read_away(int fd) {
    uint8_t bytes[4096];

    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
}

/* So often the loop comes to the connection, unless that rests, which it does once it has spent
 * more. What its user has got meanwhile is given by the same clock. */
static void expect_paid(const char *what, const void *bytes, size_t n_bytes) {
    struct leat_daemon *daemon = test_stepped_daemon();
    uint64_t start_ns, got_ns;
    struct leat_control *control;
    int fd;

    control = connect_control(daemon, &fd);
    control->right = LEAT_RIGHT_READ;
    set_debt(control->user, 0);
    start_ns = control->user->looked_at_ns;
    for (int i = 0; i < N_TURNS; i++) {
        assert_int_equal(send(fd, bytes, n_bytes, MSG_NOSIGNAL), n_bytes);
        test_stepped_run(daemon);
        read_away(fd);
    }
    got_ns = (leat_now_ns() - start_ns) / LEAT_CONTROL_SHARE + 1;
    if (!control->rest.is_on &&
        control->user->looking_ns + got_ns < N_TURNS * (uint64_t)LEAT_CONTROL_TURN_NS)
        fail_msg("%s: %d times cost %llu ns", what, N_TURNS,
                 (unsigned long long)control->user->looking_ns);
    (void)close(fd);
    test_stepped_end(daemon);
}

static void test_paid(void **state) {
    static const struct {
        const char *what;
        uint8_t bytes[16];
        size_t n;
    } cases[] = {
        {"status, answered once for all", {4, 0, 0, 0, 0x08, 1, 0x12, 0}, 8},
        {"no protobuf", {1, 0, 0, 0, 0x0a}, 5},
        {"a field twice", {6, 0, 0, 0, 0x08, 1, 0x12, 0, 0x12, 0}, 10},
        {"another version", {4, 0, 0, 0, 0x08, 2, 0x12, 0}, 8},
        {"an unknown verb", {2, 0, 0, 0, 0x08, 1}, 6},
        {"a verb of operators", {4, 0, 0, 0, 0x08, 1, 0x3a, 0}, 8},
        {"a part of a frame", {0, 0, 1, 0}, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_paid(cases[i].what, cases[i].bytes, cases[i].n);
}

/* Connecting and hanging up is paid too, and owed by who comes again. */
static void test_connections(void **state) {
    struct leat_daemon *daemon = test_stepped_daemon();
    struct leat_control *control;
    uint64_t start_ns, got_ns;
    int kept, fd;

    (void)state;
    control = connect_control(daemon, &kept);
    set_debt(control->user, 0);
    start_ns = control->user->looked_at_ns;
    for (int i = 0; i < N_TURNS; i++) {
        (void)connect_control(daemon, &fd);
        (void)close(fd);
        test_stepped_run(daemon);
    }
    got_ns = (leat_now_ns() - start_ns) / LEAT_CONTROL_SHARE + 1;
    assert_in_range(control->user->looking_ns + got_ns, N_TURNS * (uint64_t)LEAT_CONTROL_TURN_NS,
                    UINT64_MAX);
    (void)close(kept);
    test_stepped_end(daemon);
}

/* What threads do for one that only looks is paid, as its part of all workers. */
static void test_workers(void **state) {
    struct leat_daemon *daemon = test_stepped_daemon();
    struct leat_control *control;
    int fd;

    (void)state;
    control = connect_control(daemon, &fd);
    set_debt(control->user, 0);
    leat_control_charge_work(control, 1000000);
    assert_int_equal(control->user->looking_ns, 0); /* its right is that of the daemon's user */
    control->right = LEAT_RIGHT_READ;
    leat_control_charge_work(control, 1000000);
    assert_int_equal(control->user->looking_ns, 1000000 / daemon->env.n_workers);
    (void)close(fd);
    test_stepped_end(daemon);
}

/* Nothing is read of one whose user has nothing left, whichever connection spent it. */
static void test_rest(void **state) {
    struct leat_daemon *daemon = test_stepped_daemon();
    struct leat_control *controls[3];
    int fds[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        controls[i] = connect_control(daemon, &fds[i]);
    set_debt(controls[0]->user, UINT64_MAX / 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(send(fds[i], "\4\0\0\0\x08\1\x12\0", 8, MSG_NOSIGNAL), 8);
    test_stepped_run(daemon);
    for (int i = 0; i < 3; i++) {
        assert_true(controls[i]->rest.is_on);
        assert_int_equal(controls[i]->channel.decoder.n_bytes, 0);
        assert_int_equal(recv(fds[i], (char[1]){0}, 1, 0), -1);
        (void)close(fds[i]);
    }
    test_stepped_end(daemon);
}

static void go_on(struct leat_control *control, bool is_served) {
    if (control->rest.is_on) {
        leat_control_rest_close(&control->rest);
        control->rest.is_closed = false;
        leat_channel_rest(&control->channel, false);
    }
    set_debt(control->user, is_served ? 0 : UINT64_MAX / 2);
    leat_control_rest_begin(&control->rest);
    set_debt(control->user, UINT64_MAX / 2);
    if (is_served)
        leat_control_rest_serve(&control->rest);
    leat_control_rest_end(&control->rest);
}

static void expect_line(const struct leat_daemon *daemon, struct leat_control *const *controls,
                        size_t n) {
    const struct leat_control_rest *at = daemon->controls.pace.first;

    for (size_t i = 0; i < n; i++, at = at->next)
        assert_ptr_equal(at, &controls[i]->rest);
    assert_null(at);
}

/* Who was served goes to the end of the line; who was not keeps its place. */
static void test_line(void **state) {
    struct leat_daemon *daemon = test_stepped_daemon();
    struct leat_control *a, *b, *c;
    int fds[3];

    (void)state;
    a = connect_control(daemon, &fds[0]);
    set_debt(a->user, UINT64_MAX / 2);
    b = connect_control(daemon, &fds[1]);
    c = connect_control(daemon, &fds[2]);
    go_on(a, false);
    expect_line(daemon, (struct leat_control *[]){a, b, c}, 3);
    go_on(a, true);
    expect_line(daemon, (struct leat_control *[]){b, c, a}, 3);
    go_on(c, false);
    expect_line(daemon, (struct leat_control *[]){b, c, a}, 3);
    go_on(b, true);
    expect_line(daemon, (struct leat_control *[]){c, a, b}, 3);
    for (int i = 0; i < 3; i++)
        (void)close(fds[i]);
    test_stepped_end(daemon);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paid),    cmocka_unit_test(test_connections),
        cmocka_unit_test(test_workers), cmocka_unit_test(test_rest),
        cmocka_unit_test(test_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
