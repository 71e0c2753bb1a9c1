/* shared_daemon.c: see shared_daemon.h. */
#include "tests/daemon/shared_daemon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/frame.h"

static FILE *create(const struct test_daemon *test, const char *name) {
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", test->folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void write_lists(const struct test_daemon *test) {
    FILE *file = create(test, "lists.jsonl");

    for (unsigned i = 0; i < TEST_N_LISTS; i++) {
        (void)fputs("{\"ids\": [", file);
        for (unsigned j = 0; j < TEST_LIST_LENGTH(i); j++)
            (void)fprintf(file, "%s%u", j ? "," : "", i);
        (void)fputs("]}\n", file);
    }
    (void)fclose(file);
}

static void write_files(const struct test_daemon *test, unsigned n_records, const char *settings) {
    FILE *data = create(test, "numbers.csv"), *config = create(test, "leatd.yaml");

    write_lists(test);
    (void)fputs("id\n", data);
    for (unsigned i = 0; i < n_records; i++)
        (void)fprintf(data, "%u\n", i);
    (void)fclose(data);
    (void)fprintf(
        config,
        "workers: 2\ntuner: off\n%sstreams:\n  numbers:\n    source: { csv: { paths: [numbers.csv] "
        "} }\n"
        "    stages:\n      - cast: { input: id, dtype: int64 }\n"
        "      - batch: { batch_size: 4 }\n"
        "  lists:\n    source: { jsonl: { paths: [lists.jsonl], fields: { ids: list<int32> } } }\n"
        "    stages:\n      - pad: { input: ids, longest: true, value: 0 }\n"
        "      - batch: { batch_size: 2 }\n",
        settings);
    (void)fclose(config);
}

static void *run_daemon(void *data) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct test_daemon *test = data;

    test->result = leat_daemon_run(test->daemon, &err);
    return NULL;
}

void test_daemon_start(struct test_daemon *test, unsigned n_records, const char *settings) {
    char config[256], log[256];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_daemon_options options = {
        .config_file = config, .socket_dir = test->folder, .stop_ms = 1000 * TEST_HANG_S};

    *test = (struct test_daemon){.folder = "/tmp/leat-test-XXXXXX"};
    assert_non_null(mkdtemp(test->folder));
    write_files(test, n_records, settings);
    (void)snprintf(config, sizeof(config), "%s/leatd.yaml", test->folder);
    (void)snprintf(log, sizeof(log), "%s/leatd.log", test->folder);
    test->log_fd = open(log, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
    assert_true(test->log_fd >= 0);
    options.log_fd = test->log_fd;
    if (leat_daemon_new(&options, &test->daemon, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(pthread_create(&test->thread, NULL, run_daemon, test), 0);
}

void test_daemon_stop(struct test_daemon *test) {
    leat_daemon_stop(test->daemon);
    test_daemon_join(test);
}

void test_daemon_join(struct test_daemon *test) {
    static const char *const names[] = {"numbers.csv", "lists.jsonl", "leatd.yaml", "leatd.log"};
    char path[256];

    assert_int_equal(pthread_join(test->thread, NULL), 0);
    assert_int_equal(test->result, 0);
    test->daemon = leat_daemon_free(test->daemon);
    (void)close(test->log_fd);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", test->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(test->folder), 0); /* no socket is left behind */
}

char *test_daemon_log(const struct test_daemon *test) {
    struct stat status;
    char *text;

    assert_int_equal(fstat(test->log_fd, &status), 0);
    text = calloc(1, (size_t)status.st_size + 1);
    assert_non_null(text);
    assert_int_equal(pread(test->log_fd, text, (size_t)status.st_size, 0), status.st_size);
    return text;
}

static void receive_all(int fd, void *buffer, size_t n_bytes) {
    for (size_t n = 0; n < n_bytes;) {
        ssize_t r = recv(fd, (char *)buffer + n, n_bytes - n, 0);

        assert_true(r > 0);
        n += (size_t)r;
    }
}

void test_daemon_status(const struct test_daemon *test, Leat__StatusReply **ret_status) {
    static const uint8_t request[] = {4, 0, 0, 0, 0x08, 0x01, 0x12, 0x00};
    int fd = test_connect(test, "control.sock", SOCK_STREAM);
    Leat__ControlReply *reply;
    uint8_t buffer[4096];
    uint32_t n_bytes;

    (void)send(fd, request, sizeof(request), MSG_NOSIGNAL); /* who is refused receives why */
    receive_all(fd, &n_bytes, sizeof(n_bytes));
    assert_in_range(n_bytes, 1, sizeof(buffer));
    receive_all(fd, buffer, n_bytes);
    (void)close(fd);
    reply = leat__control_reply__unpack(NULL, n_bytes, buffer);
    assert_non_null(reply);
    if (reply->verb_case != LEAT__CONTROL_REPLY__VERB_STATUS)
        fail_msg("no status: %s", reply->error ? reply->error->message : "another reply");
    *ret_status = reply->status;
    reply->verb_case = LEAT__CONTROL_REPLY__VERB__NOT_SET;
    reply->status = NULL;
    leat__control_reply__free_unpacked(reply, NULL);
}

void test_daemon_wait(const struct test_daemon *test,
                      bool (*holds)(const Leat__StatusReply *status, uint64_t number),
                      uint64_t number, const char *what) {
    uint64_t start_ns = leat_now_ns();
    bool is_so = false;

    while (!is_so) {
        Leat__StatusReply *status;

        test_daemon_status(test, &status);
        is_so = holds(status, number);
        leat__status_reply__free_unpacked(status, NULL);
        if (!is_so && leat_now_ns() - start_ns > TEST_HANG_S * UINT64_C(1000000000))
            fail_msg("not within %d seconds: %s", TEST_HANG_S, what);
        if (!is_so)
            (void)usleep(5000);
    }
}

static bool is_idle(const Leat__StatusReply *status, uint64_t number) {
    (void)number;
    return status->n_sessions == 0 && status->n_slots == 0 && status->ring_bytes == 0;
}

void test_daemon_wait_idle(const struct test_daemon *test) {
    test_daemon_wait(test, is_idle, 0, "the daemon is idle");
}

int test_connect(const struct test_daemon *test, const char *socket_name, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = TEST_HANG_S};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", test->folder, socket_name);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    return fd;
}

/* The daemon may have hung up already: then what it said last is still there to be received. */
void test_send(int fd, const struct leat_packet *packet, const void *payload) {
    int r = leat_packet_send(fd, packet, payload, -1, 1);

    if (r < 0 && r != -EPIPE && r != -ECONNRESET)
        fail_msg("sending: %s", strerror(-r));
}

uint16_t test_receive(int fd, struct leat_packet *ret_packet, void *ret_payload, int *ret_fd) {
    int passed = -1, r = leat_packet_receive(fd, ret_packet, ret_payload, &passed, 1);

    if (r == -ECONNRESET)
        r = 0;
    assert_true(r >= 0);
    if (ret_fd)
        *ret_fd = passed;
    else if (passed >= 0)
        (void)close(passed);
    return r > 0 ? ret_packet->kind : 0;
}

struct leat_packet test_hello(void) {
    return (struct leat_packet){
        .kind = LEAT_PACKET_HELLO,
        .hello = {.magic = LEAT_PACKET_MAGIC,
                  .major = LEAT_PROTOCOL_MAJOR,
                  .minor = LEAT_PROTOCOL_MINOR},
    };
}

void test_send_open(int fd, const char *stream, uint32_t window, uint64_t n_epochs) {
    Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN};
    uint8_t payload[1024];

    request.stream = (char *)(uintptr_t)stream;
    request.window = window;
    request.n_epochs = n_epochs;
    packet.payload_bytes = (uint32_t)leat__open_request__pack(&request, payload);
    test_send(fd, &packet, payload);
}

int test_welcome(const struct test_daemon *test) {
    int fd = test_connect(test, "trainer.sock", SOCK_SEQPACKET);
    struct leat_packet packet = test_hello();

    test_send(fd, &packet, NULL);
    assert_int_equal(test_receive(fd, &packet, NULL, NULL), LEAT_PACKET_WELCOME);
    return fd;
}

int test_open(const struct test_daemon *test, const char *stream, uint32_t window,
              uint64_t n_epochs) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    int fd = test_welcome(test);
    struct leat_packet packet;

    test_send_open(fd, stream, window, n_epochs);
    assert_int_equal(test_receive(fd, &packet, payload, NULL), LEAT_PACKET_OPENED);
    return fd;
}

struct leat_packet test_next_batch(int fd) {
    struct leat_packet packet;
    uint16_t kind;

    do {
        kind = test_receive(fd, &packet, NULL, NULL);
    } while (kind == LEAT_PACKET_RING || kind == LEAT_PACKET_END);
    assert_int_equal(kind, LEAT_PACKET_BATCH);
    return packet;
}

void test_release(int fd, const struct leat_packet *batch) {
    struct leat_packet packet = *batch;

    packet.kind = LEAT_PACKET_RELEASE;
    test_send(fd, &packet, NULL);
}

bool test_expect_error(int fd, char *text, size_t size) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet packet;
    bool was_told = false;
    uint16_t kind;

    while ((kind = test_receive(fd, &packet, payload, NULL)) != 0) {
        Leat__Error *error;

        if (kind != LEAT_PACKET_REFUSE && kind != LEAT_PACKET_GOAWAY)
            continue;
        error = leat__error__unpack(NULL, packet.payload_bytes, payload);
        assert_non_null(error);
        was_told = true;
        (void)snprintf(text, size, "%s", error->message);
        leat__error__free_unpacked(error, NULL);
    }
    return was_told;
}
