/* test_socket_closer.c: one turn of the loop closes a few sockets, however many are pending. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "daemon/net/socket_closer.h"

#define N_SOCKETS 300
#define MOST      32 /* a turn */

static int n_closed;

static void on_closed(struct leat_socket_closer_item *item) {
    (void)item;
    n_closed++;
}

static void test_turn_is_bounded(void **state) {
    static struct leat_socket_closer_item items[N_SOCKETS];
    struct leat_socket_closer closer;
    int ends[N_SOCKETS], n_turns = 0;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(leat_socket_closer_init(&closer, &loop), 0);
    for (int i = 0; i < N_SOCKETS; i++) {
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        items[i] = (struct leat_socket_closer_item){.fd = pair[0], .on_closed = on_closed};
        ends[i] = pair[1];
        leat_socket_closer_close(&closer, &items[i]);
    }
    assert_int_equal(n_closed, 0); /* never within the caller's turn */
    while (!leat_socket_closer_is_idle(&closer)) {
        int n_before = n_closed;

        (void)uv_run(&loop, UV_RUN_NOWAIT);
        assert_in_range(n_closed - n_before, 1, MOST);
        n_turns++;
    }
    assert_int_equal(n_closed, N_SOCKETS);
    assert_true(n_turns >= N_SOCKETS / MOST);
    for (int i = 0; i < N_SOCKETS; i++) {
        char byte;

        assert_int_equal(read(ends[i], &byte, 1), 0); /* in order, and closed indeed */
        (void)close(ends[i]);
    }
    leat_socket_closer_stop(&closer);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    leat_socket_closer_deinit(&closer);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turn_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
