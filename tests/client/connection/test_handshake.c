/* test_handshake.c: how a stream is opened, or is not: daemons that refuse, that are no daemons or
 * do not answer, and options that make no sense. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "client/leat.h"
#include "tests/client/shared_fake_daemon.h"

/* ---- answers ---- */

static void serve_refusal(int fd, void *argument) {
    struct leat_packet packet;

    (void)argument;
    fake_greet(fd);
    (void)fake_receive(fd, &packet);
    fake_refuse(fd, LEAT_PACKET_REFUSE, -ENOENT, "there is no stream \"s\"");
    fake_wait_for_end(fd);
}

static void test_refusal(void **state) {
    struct fake_session session;

    (void)state;
    assert_int_equal(fake_session_try(&session, 0, serve_refusal, NULL, NULL), -ENOENT);
    assert_null(session.stream);
    assert_string_equal(leat_error_text(leat_client_error(session.client)),
                        "a.csv:14:3: there is no stream \"s\"");
    assert_int_equal(leat_error_line(leat_client_error(session.client)), 14);
    assert_int_equal(leat_error_column(leat_client_error(session.client)), 3);
    assert_string_equal(leat_error_file(leat_client_error(session.client)), "a.csv");
    assert_string_equal(leat_error_path(leat_client_error(session.client)), "");
    fake_session_end(&session);
}

static void serve_other_version(int fd, void *argument) {
    struct leat_packet packet;
    struct leat_packet welcome = {.kind = LEAT_PACKET_WELCOME,
                                  .hello = {.magic = LEAT_PACKET_MAGIC, .major = 2, .minor = 5}};

    (void)argument;
    (void)fake_receive(fd, &packet);
    fake_send(fd, &welcome, NULL, -1);
    fake_wait_for_end(fd);
}

static void test_other_version(void **state) {
    struct fake_session session;

    (void)state;
    assert_int_equal(fake_session_try(&session, 0, serve_other_version, NULL, NULL),
                     -EPROTONOSUPPORT);
    assert_non_null(strstr(leat_error_text(leat_client_error(session.client)), "2.5"));
    fake_session_end(&session);
}

/* Another program answers with a packet of the same form. */
static void serve_stranger(int fd, void *argument) {
    struct leat_packet packet;
    struct leat_packet welcome = {.kind = LEAT_PACKET_WELCOME,
                                  .hello = {.magic = 7, .major = LEAT_PROTOCOL_MAJOR}};

    (void)argument;
    (void)fake_receive(fd, &packet);
    fake_send(fd, &welcome, NULL, -1);
    if (fake_receive(fd, &packet))
        fake_refuse(fd, LEAT_PACKET_REFUSE, -ENOENT, "what is OPEN?");
}

static void test_stranger(void **state) {
    struct fake_session session;

    (void)state;
    assert_int_equal(fake_session_try(&session, 0, serve_stranger, NULL, NULL), -EPROTO);
    assert_non_null(strstr(leat_error_text(leat_client_error(session.client)), "is not leatd"));
    fake_session_end(&session);
}

static void serve_opened_at_once(int fd, void *argument) {
    struct leat_packet packet;

    (void)argument;
    (void)fake_receive(fd, &packet);
    fake_opened(fd, 2);
    fake_wait_for_end(fd);
}

static void test_opened_without_welcome(void **state) {
    struct fake_session session;

    (void)state;
    assert_int_equal(fake_session_try(&session, 0, serve_opened_at_once, NULL, NULL), -EPROTO);
    assert_non_null(strstr(leat_error_text(leat_client_error(session.client)),
                           "an unexpected packet (kind 5) during the handshake: check that leatd"));
    fake_session_end(&session);
}

/* The daemon receives nothing any more when the client sends OPEN. */
static void serve_deaf_refusal(int fd, void *argument) {
    struct leat_packet packet;
    struct leat_packet welcome = {
        .kind = LEAT_PACKET_WELCOME,
        .hello = {.magic = LEAT_PACKET_MAGIC, .major = LEAT_PROTOCOL_MAJOR}};

    (void)argument;
    (void)fake_receive(fd, &packet);
    assert_int_equal(shutdown(fd, SHUT_RD), 0);
    fake_send(fd, &welcome, NULL, -1);
    fake_refuse(fd, LEAT_PACKET_REFUSE, -EACCES, "only root may open \"s\"");
}

static void test_reason_behind_a_broken_pipe(void **state) {
    struct leat_open_options options;
    struct fake_session session;

    (void)state;
    leat_open_options_init(&options);
    options.reconnect_timeout_ms = LEAT_NO_RECONNECT;
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        assert_int_equal(fake_session_try(&session, is_copy, serve_deaf_refusal, NULL, &options),
                         -EACCES);
        assert_string_equal(leat_error_text(leat_client_error(session.client)),
                            "a.csv:14:3: only root may open \"s\"");
        fake_session_end(&session);
    }
}

/* ---- no answer, and what is not asked for ---- */

static void serve_silence(int fd, void *argument) {
    (void)argument;
    fake_wait_for_end(fd);
}

/* libleat refuses bad positions before it sends anything. */
static void test_bad_positions(void **state) {
    struct leat_open_options options;
    struct fake_session session;

    (void)state;
    leat_open_options_init(&options);
    options.position = "leat1:spec=12";
    assert_int_equal(fake_session_try(&session, 0, serve_silence, NULL, &options), -EINVAL);
    fake_session_end(&session);
    options.position = NULL;
    options.accept_changes = true;
    assert_int_equal(fake_session_try(&session, 0, serve_silence, NULL, &options), -EINVAL);
    fake_session_end(&session);
    options.position = "leat1:spec=00112233445566778899aabbccddeeff:"
                       "data=00000000000000000000000000000000:seed=7:epoch=3:step=6:world=2";
    options.first_step = 6;
    assert_int_equal(fake_session_try(&session, 0, serve_silence, NULL, &options), -EINVAL);
    fake_session_end(&session);
}

static void serve_open_only(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_wait_for_end(fd);
}

static void test_other_digest(void **state) {
    const uint8_t wanted[32] = {9};
    struct leat_open_options options;
    struct fake_session session;

    (void)state;
    leat_open_options_init(&options);
    options.expect_digest = wanted;
    assert_int_equal(fake_session_try(&session, 0, serve_open_only, NULL, &options), -ESTALE);
    fake_session_end(&session);
}

static void test_open_timeout(void **state) {
    struct leat_open_options options;
    struct fake_session session;

    (void)state;
    leat_open_options_init(&options);
    options.open_timeout_ms = 30;
    assert_int_equal(fake_session_try(&session, 0, serve_silence, NULL, &options), -ETIMEDOUT);
    fake_session_end(&session);
}

static void test_options(void **state) {
    struct leat_open_options options;
    struct fake_session session;
    struct {
        struct leat_open_options known;
        uint64_t future;
    } newer = {.future = 1};

    (void)state;
    leat_open_options_init(&options);
    options.rank = 4;
    options.world_size = 4;
    assert_int_equal(fake_session_try(&session, 0, serve_open_only, NULL, &options), -EINVAL);
    options.rank = 0;
    options.delivery = 7;
    assert_int_equal(leat_client_open(session.client, "s", &options, &session.stream), -EINVAL);
    leat_open_options_init(&newer.known);
    newer.known.struct_size = sizeof(newer);
    assert_int_equal(leat_client_open(session.client, "s", &newer.known, &session.stream), -E2BIG);
    newer.future = 0;
    assert_int_equal(leat_client_open(session.client, "s", &newer.known, &session.stream), 0);
    fake_session_end(&session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_stranger),
        cmocka_unit_test(test_opened_without_welcome),
        cmocka_unit_test(test_reason_behind_a_broken_pipe),
        cmocka_unit_test(test_bad_positions),
        cmocka_unit_test(test_other_digest),
        cmocka_unit_test(test_open_timeout),
        cmocka_unit_test(test_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
