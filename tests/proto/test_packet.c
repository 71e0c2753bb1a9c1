/* test_packet.c: proto/packet.c over a socket pair: payloads, sizes that do not hold, descriptors
 * that are expected, not expected, too many; none is ever leaked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "proto/packet.h"
#include "tests/skip.h"

#define MAX_PASSED 16

static int n_open(void) {
    DIR *directory = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(directory);
    while (readdir(directory))
        n++;
    closedir(directory);
    return n;
}

static int n_open_before;

static int open_pair(void **state) {
    static int pair[2];

    n_open_before = n_open();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    *state = pair;
    return 0;
}

static int close_pair(void **state) {
    const int *pair = *state;

    close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    return n_open() == n_open_before ? 0 : -1;
}

static void test_round_trip(void **state) {
    static const uint32_t sizes[] = {0, 1, 100, LEAT_PACKET_PAYLOAD_MAX};
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX], back[LEAT_PACKET_PAYLOAD_MAX];
    const int *pair = *state;

    for (size_t i = 0; i < sizeof(payload); i++)
        payload[i] = (uint8_t)(i * 31);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct leat_packet packet = {.kind = LEAT_PACKET_OPEN, .payload_bytes = sizes[i]};
        struct leat_packet received;

        packet.batch.step = 77;
        memset(back, 0, sizeof(back));
        assert_int_equal(leat_packet_send(pair[0], &packet, payload, -1, 0), 0);
        assert_int_equal(leat_packet_receive(pair[1], &received, back, NULL, 0), 1);
        assert_memory_equal(&packet, &received, sizeof(packet));
        assert_memory_equal(payload, back, sizes[i]);
    }
}

static void test_nothing_there(void **state) {
    const int *pair = *state;
    struct leat_packet packet;
    int fd = 17;

    assert_int_equal(leat_packet_receive(pair[1], &packet, NULL, NULL, 0), -EAGAIN);
    assert_int_equal(leat_packet_receive(pair[1], &packet, NULL, &fd, 0), -EAGAIN);
    assert_int_equal(fd, -1);
}

static void test_end(void **state) {
    int *pair = *state;
    struct leat_packet packet = {.kind = LEAT_PACKET_BYE};
    int fd;

    close(pair[1]);
    pair[1] = -1;
    assert_int_equal(leat_packet_receive(pair[0], &packet, NULL, NULL, 0), 0);
    assert_int_equal(leat_packet_receive(pair[0], &packet, NULL, &fd, 1), 0);
    assert_int_equal(leat_packet_send(pair[0], &packet, NULL, -1, 0), -EPIPE); /* and no SIGPIPE */
}

/* More than are sent by one call. */
static void test_many(void **state) {
    enum { N = 70 };
    const int *pair = *state;
    struct leat_packet packets[N], received;

    memset(packets, 0, sizeof(packets));
    for (uint32_t i = 0; i < N; i++) {
        packets[i].kind = LEAT_PACKET_BATCH;
        packets[i].batch.step = i;
    }
    assert_int_equal(leat_packet_send_many(pair[0], packets, N, 0), 0);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(leat_packet_receive(pair[1], &received, NULL, NULL, 0), 1);
        assert_memory_equal(&received, &packets[i], sizeof(received));
    }
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, NULL, 0), -EAGAIN);
}

/* Sends bytes with n descriptors of /dev/null, as a peer that keeps to no rule. */
static void send_raw(int socket, const void *bytes, size_t n_bytes, int n_fds) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n_bytes};
    union {
        char bytes[CMSG_SPACE(MAX_PASSED * sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fds[MAX_PASSED];

    for (int i = 0; i < n_fds; i++)
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (n_fds > 0) {
        size_t n = (size_t)n_fds * sizeof(int);
        struct cmsghdr *head;

        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(n);
        memcpy(CMSG_DATA(head), fds, n);
    }
    assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), (ssize_t)n_bytes);
    for (int i = 0; i < n_fds; i++)
        close(fds[i]);
}

/* Packets of one message, where the receiver takes them and where it does not. */
static void test_joined(void **state) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    const int *pair = *state;
    struct leat_packet packets[LEAT_PACKET_JOINED_MAX + 1], received;
    size_t n_more = 77;

    memset(packets, 0, sizeof(packets));
    for (uint32_t i = 0; i <= LEAT_PACKET_JOINED_MAX; i++) {
        packets[i].kind = LEAT_PACKET_BATCH;
        packets[i].batch.step = i;
    }
    for (size_t n = 1; n <= LEAT_PACKET_JOINED_MAX; n++) {
        assert_int_equal(leat_packet_send_joined(pair[0], packets, n, 0), 0);
        assert_int_equal(leat_packet_receive_joined(pair[1], &received, payload, &n_more, NULL, 0),
                         1);
        assert_int_equal(n_more, n - 1);
        assert_memory_equal(&received, packets, sizeof(received));
        assert_memory_equal(payload, packets + 1, n_more * sizeof(received));
    }
    assert_int_equal(leat_packet_receive_joined(pair[1], &received, payload, &n_more, NULL, 0),
                     -EAGAIN);
    assert_int_equal(n_more, 0);
    assert_int_equal(leat_packet_send_joined(pair[0], packets, 2, 0), 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
    (void)recv(pair[1], payload, sizeof(payload), MSG_DONTWAIT);

    send_raw(pair[0], packets, sizeof(packets), 0); /* one too many */
    assert_int_equal(leat_packet_receive_joined(pair[1], &received, payload, &n_more, NULL, 0),
                     -EPROTO);
    send_raw(pair[0], packets, sizeof(packets[0]) + 63, 0);
    assert_int_equal(leat_packet_receive_joined(pair[1], &received, payload, &n_more, NULL, 0),
                     -EPROTO);
    packets[2].payload_bytes = 1;
    send_raw(pair[0], packets, 3 * sizeof(packets[0]), 0);
    assert_int_equal(leat_packet_receive_joined(pair[1], &received, payload, &n_more, NULL, 0),
                     -EPROTO);
    assert_int_equal(n_more, 0);
}

/* A peer that ends with unread packets says ECONNRESET first. */
static void test_last_words(void **state) {
    struct leat_packet packet = {.kind = LEAT_PACKET_BYE}, received;
    int fd;

    (void)state;
    for (int i = 0; i < 2; i++) { /* without and with room for a descriptor */
        int own[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, own), 0);
        assert_int_equal(leat_packet_send(own[0], &packet, NULL, -1, 0), 0); /* is never read */
        assert_int_equal(leat_packet_send(own[1], &packet, NULL, -1, 0), 0);
        close(own[1]);
        assert_int_equal(leat_packet_receive(own[0], &received, NULL, i ? &fd : NULL, 0), 1);
        assert_int_equal(received.kind, LEAT_PACKET_BYE);
        assert_int_equal(leat_packet_receive(own[0], &received, NULL, i ? &fd : NULL, 0), 0);
        close(own[0]);
    }
}

static int drained;

static void drain(int signal) {
    struct leat_packet packet;

    (void)signal;
    while (leat_packet_receive(drained, &packet, NULL, NULL, 0) == 1)
        ;
}

/* A signal that comes while the sender waits for room, and makes room. */
static void test_interrupted(void **state) {
    const int *pair = *state;
    struct sigaction action = {.sa_handler = drain}, before;
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH};

    while (leat_packet_send(pair[0], &packet, NULL, -1, 0) == 0)
        ;
    drained = pair[1];
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    assert_int_equal(leat_packet_send(pair[0], &packet, NULL, -1, 1), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

static void test_full_socket(void **state) {
    const int *pair = *state;
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH};
    int r = 0, n_sent = 0;

    for (; r == 0 && n_sent < 1000000; n_sent++)
        r = leat_packet_send(pair[0], &packet, NULL, -1, 0);
    assert_int_equal(r, -EAGAIN);
    for (int i = 0; i < n_sent - 1; i++)
        assert_int_equal(leat_packet_receive(pair[1], &packet, NULL, NULL, 0), 1);
    assert_int_equal(leat_packet_receive(pair[1], &packet, NULL, NULL, 0), -EAGAIN);
}

static void test_sizes_that_do_not_hold(void **state) {
    static uint8_t bytes[sizeof(struct leat_packet) + LEAT_PACKET_PAYLOAD_MAX + 1];
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet *packet = (struct leat_packet *)(void *)bytes;
    struct leat_packet received;
    const int *pair = *state;

    send_raw(pair[0], bytes, 1, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
    send_raw(pair[0], bytes, 63, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
    packet->payload_bytes = 10; /* claimed, not sent */
    send_raw(pair[0], bytes, 64, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
    send_raw(pair[0], bytes, 64, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, NULL, 0), -EPROTO);
    packet->payload_bytes = 0; /* sent, not claimed */
    send_raw(pair[0], bytes, 74, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
    packet->payload_bytes = UINT32_MAX;
    send_raw(pair[0], bytes, 64, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
    packet->payload_bytes = LEAT_PACKET_PAYLOAD_MAX + 1; /* as said, but too much */
    send_raw(pair[0], bytes, sizeof(bytes), 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
    packet->payload_bytes = 10; /* no payload is expected here */
    send_raw(pair[0], bytes, 74, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, NULL, 0), -EPROTO);
    packet->payload_bytes = 0; /* and after all that the socket is in step */
    send_raw(pair[0], bytes, 64, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, NULL, 0), 1);
}

/* The part of a long message that has room is as long as it says. */
static void test_long_packet(void **state) {
    static struct {
        struct leat_packet packet;
        uint8_t payload[LEAT_PACKET_PAYLOAD_MAX + 1];
    } sent;
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    const int *pair = *state;
    struct leat_packet received;

    sent.packet = (struct leat_packet){.kind = LEAT_PACKET_OPEN};
    send_raw(pair[0], &sent, sizeof(sent.packet) + 1, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, NULL, 0), -EPROTO);
    sent.packet.payload_bytes = LEAT_PACKET_PAYLOAD_MAX;
    send_raw(pair[0], &sent, sizeof(sent.packet) + LEAT_PACKET_PAYLOAD_MAX + 1, 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, payload, NULL, 0), -EPROTO);
}

static void test_descriptor_expected(void **state) {
    const int *pair = *state;
    struct leat_packet packet = {.kind = LEAT_PACKET_RING}, received;
    int n_before = n_open(), fd = -1, pipes[2];
    char byte = 0;

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(leat_packet_send(pair[0], &packet, NULL, pipes[1], 0), 0);
    close(pipes[1]);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, &fd, 0), 1);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    close(fd);
    close(pipes[0]);
    assert_int_equal(leat_packet_send(pair[0], &packet, NULL, -1, 0), 0);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, &fd, 0), 1);
    assert_int_equal(fd, -1); /* none came */
    assert_int_equal(n_open(), n_before);
}

static void test_descriptors_refused(void **state) {
    const int *pair = *state;
    struct leat_packet packet = {.kind = LEAT_PACKET_RELEASE}, received;
    int n_before = n_open();

    for (int n = 1; n <= MAX_PASSED; n++) {
        int others[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, others), 0);
        send_raw(others[0], &packet, sizeof(packet), n);
        assert_int_equal(n_open(), n_before + 2);
        assert_int_equal(leat_packet_receive(others[1], &received, NULL, NULL, 0), -EPROTO);
        assert_int_equal(n_open(), n_before + 2); /* never installed */
        close(others[0]);
        close(others[1]);
    }
    assert_int_equal(n_open(), n_before);
    (void)pair;
}

static void test_too_many_descriptors(void **state) {
    const int *pair = *state;
    struct leat_packet packet = {.kind = LEAT_PACKET_RING}, received;
    int n_before = n_open();

    SKIP_CASE_IF_EMULATED("qemu receives descriptors for which there is no room");
    for (int n = 2; n <= MAX_PASSED; n++) {
        int fd = 17;

        send_raw(pair[0], &packet, sizeof(packet), n);
        assert_int_equal(leat_packet_receive(pair[1], &received, NULL, &fd, 0), -EPROTO);
        assert_int_equal(fd, -1);
        assert_int_equal(n_open(), n_before);
    }
}

/* A broken packet, or an empty one, with a descriptor: the descriptor goes with it. */
static void test_descriptor_of_a_broken_packet(void **state) {
    const int *pair = *state;
    struct leat_packet packet = {.kind = LEAT_PACKET_RING, .payload_bytes = 5}, received;
    int n_before = n_open(), fd = 17;

    send_raw(pair[0], &packet, sizeof(packet), 1);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, &fd, 0), -EPROTO);
    assert_int_equal(fd, -1);
    send_raw(pair[0], &packet, 3, 1);
    assert_int_equal(leat_packet_receive(pair[1], &received, NULL, &fd, 0), -EPROTO);
    assert_int_equal(fd, -1);
    send_raw(pair[0], "", 0, 1);
    assert_true(leat_packet_receive(pair[1], &received, NULL, &fd, 0) <= 0);
    assert_int_equal(fd, -1);
    assert_int_equal(n_open(), n_before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_nothing_there, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_end, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_full_socket, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_many, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_joined, open_pair, close_pair),
        cmocka_unit_test(test_last_words),
        cmocka_unit_test_setup_teardown(test_interrupted, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_sizes_that_do_not_hold, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_long_packet, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_descriptor_expected, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_descriptors_refused, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_too_many_descriptors, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(test_descriptor_of_a_broken_packet, open_pair, close_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
