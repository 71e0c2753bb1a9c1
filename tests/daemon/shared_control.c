/* shared_control.c: see shared_control.h. */
#include "tests/daemon/shared_control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

int test_control_connect(const struct test_daemon *test) {
    return test_connect(test, "control.sock", SOCK_STREAM);
}

size_t test_control_pack(const Leat__ControlRequest *request, uint8_t *bytes) {
    size_t n = leat__control_request__pack(request, bytes + LEAT_FRAME_HEAD_BYTES);

    leat_frame_head(bytes, (uint32_t)n);
    return LEAT_FRAME_HEAD_BYTES + n;
}

void test_control_send(int fd, const void *bytes, size_t n_bytes) {
    assert_int_equal(send(fd, bytes, n_bytes, MSG_NOSIGNAL), n_bytes);
}

static int receive_all(int fd, void *bytes, size_t n_bytes) {
    for (size_t n = 0; n < n_bytes;) {
        ssize_t r = recv(fd, (uint8_t *)bytes + n, n_bytes - n, 0);

        if (r <= 0)
            return 0;
        n += (size_t)r;
    }
    return 1;
}

Leat__ControlReply *test_control_receive(int fd) {
    static uint8_t bytes[LEAT_CONTROL_FRAME_MAX];
    Leat__ControlReply *reply;
    uint32_t n_bytes;

    if (!receive_all(fd, &n_bytes, sizeof(n_bytes)))
        return NULL;
    assert_in_range(n_bytes, 1, sizeof(bytes));
    assert_true(receive_all(fd, bytes, n_bytes));
    reply = leat__control_reply__unpack(NULL, n_bytes, bytes);
    assert_non_null(reply);
    return reply;
}

Leat__ControlReply *test_control_ask(int fd, Leat__ControlRequest *request) {
    uint8_t bytes[1024];
    Leat__ControlReply *reply;

    request->version = 1;
    assert_true(leat__control_request__get_packed_size(request) <
                sizeof(bytes) - LEAT_FRAME_HEAD_BYTES);
    test_control_send(fd, bytes, test_control_pack(request, bytes));
    reply = test_control_receive(fd);
    assert_non_null(reply);
    return reply;
}

void test_control_expect(int fd, Leat__ControlReply__VerbCase verb) {
    Leat__ControlReply *reply = test_control_receive(fd);

    assert_non_null(reply);
    if (reply->error)
        fail_msg("%s", reply->error->message);
    assert_int_equal(reply->verb_case, verb);
    leat__control_reply__free_unpacked(reply, NULL);
}

void test_control_expect_error(int fd, const char *says) {
    Leat__ControlReply *reply = test_control_receive(fd);

    assert_non_null(reply);
    if (!reply->error || !strstr(reply->error->message, says))
        fail_msg("expected \"%s\", got \"%s\"", says, reply->error ? reply->error->message : "");
    leat__control_reply__free_unpacked(reply, NULL);
}
