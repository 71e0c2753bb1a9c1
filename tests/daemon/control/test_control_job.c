/* test_control_job.c: a client that hangs up while a worker thread makes its answer. The test turns
 * the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "tests/daemon/shared_control.h"
#include "tests/daemon/shared_stepped.h"

#define N_TURNS 1000 /* until the loop has read what was sent */

static void send_explain(int fd) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ExplainRequest explain = LEAT__EXPLAIN_REQUEST__INIT;
    uint8_t bytes[256];

    explain.stream = (char *)(uintptr_t) "numbers";
    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_EXPLAIN;
    request.explain = &explain;
    test_control_send(fd, bytes, test_control_pack(&request, bytes));
}

/* The job outlives its connection, and must know that. */
static void test_gone_before_the_answer(void **state) {
    struct leat_daemon *daemon = test_stepped_daemon();
    const struct leat_control_job *job;
    struct leat_control *control;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(leat_control_accept(&daemon->controls, ends[0]), 0);
    control = daemon->controls.first;
    send_explain(ends[1]);
    for (int i = 0; i < N_TURNS && !control->job; i++)
        (void)uv_run(&daemon->loop, UV_RUN_NOWAIT);
    job = control->job;
    assert_non_null(job);
    assert_ptr_equal(job->control, control);
    leat_control_close(control);
    assert_null(job->control);
    (void)close(ends[1]);
    test_stepped_end(daemon);
    test_stepped_run(daemon);
    assert_int_equal(daemon->scheduler.n_submitted, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gone_before_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
