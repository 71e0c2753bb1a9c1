/* test_descriptors.c: clients that send descriptors, on a kernel that cannot refuse them.
 *
 * SO_PASSRIGHTS (Linux 6.16) is taken away by a seccomp filter, so that they arrive and the daemon
 * has to look before it receives. What is sent is a TCP connection whose last close blocks
 * (SO_LINGER, and a peer that never reads) for longer than any answer is waited for: if the loop
 * closes or receives it, the daemon's answer to `status` does not come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/net/socket_closer.h"
#include "tests/daemon/shared_control.h"

#define LINGER_S (10 * TEST_HANG_S)

#define MAX_SENDERS 16

struct sender {
    pthread_t thread;
    sem_t is_sent;
    int fd, passed;
    const void *bytes;
    size_t n_bytes;
};

static struct test_daemon server;
static int listener = -1;
static struct sender senders[MAX_SENDERS]; /* of the test */
static size_t n_senders;

static int take_pass_rights_away(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 83, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

static int set_up(void **state) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int small = 2048;

    (void)state;
    test_daemon_start(&server, 400, "");
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 64), 0);
    return 0;
}

/* What still lingers ends with its peer. */
static int tear_down(void **state) {
    (void)state;
    (void)close(listener);
    for (size_t i = 0; i < n_senders; i++) {
        assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
        assert_int_equal(sem_destroy(&senders[i].is_sent), 0);
    }
    n_senders = 0;
    test_daemon_stop(&server);
    return 0;
}

/* A connection with unsent bytes: its last close takes LINGER_S. */
static int make_lingering(void) {
    struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
    static const char bytes[1 << 16];
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
    while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
    return fd;
}

static void send_with(int fd, const void *bytes, size_t n_bytes, int passed) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n_bytes};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &passed, sizeof(passed));
    (void)sendmsg(fd, &message, MSG_NOSIGNAL);
}

static void *send_and_close(void *data) {
    struct sender *sender = data;

    send_with(sender->fd, sender->bytes, sender->n_bytes, sender->passed);
    (void)sem_post(&sender->is_sent);
    (void)close(sender->passed);
    return NULL;
}

/* From then on only the daemon has it; but where that is rid of it already, our own close is the
 * last one, and lingers. */
static void send_lingering(int fd, const void *bytes, size_t n_bytes) {
    struct sender *sender = &senders[n_senders++];

    assert_true(n_senders <= MAX_SENDERS);
    *sender =
        (struct sender){.fd = fd, .passed = make_lingering(), .bytes = bytes, .n_bytes = n_bytes};
    assert_int_equal(sem_init(&sender->is_sent, 0, 0), 0);
    assert_int_equal(pthread_create(&sender->thread, NULL, send_and_close, sender), 0);
    while (sem_wait(&sender->is_sent) < 0)
        assert_int_equal(errno, EINTR);
}

/* Also while the connection that ends is in any state of its end. */
static void expect_answers(void) {
    for (int i = 0; i < 10; i++) {
        Leat__StatusReply *status;

        test_daemon_status(&server, &status);
        leat__status_reply__free_unpacked(status, NULL);
    }
}

static void test_filter_works(void **state) {
    (void)state;
    assert_false(leat_socket_refuse_descriptors(listener));
}

/* In every state; alone, in front of other packets, behind them. */
static void test_trainer(void **state) {
    struct leat_packet hello = test_hello(), bye = {.kind = LEAT_PACKET_BYE}, batch, first;

    (void)state;
    for (int i = 0; i < 9; i++) {
        int fd = i < 2   ? test_connect(&server, "trainer.sock", SOCK_SEQPACKET)
                 : i < 3 ? test_welcome(&server)
                         : test_open(&server, "numbers", 4, 1);
        char text[1024] = "";

        batch = first = hello;
        if (i >= 3) {
            first = test_next_batch(fd);
            batch = test_next_batch(fd);
            batch.kind = first.kind = LEAT_PACKET_RELEASE;
        }
        if (i % 3 == 1 && i >= 3)
            test_send(fd, &first, NULL);
        send_lingering(fd, &batch, i == 8 ? 10 : sizeof(batch));
        if (i % 3 == 2)
            for (int j = 0; j < 100; j++)
                test_send(fd, &first, NULL);
        if (i == 6) {
            test_send(fd, &bye, NULL);
            (void)close(fd);
        } else if (i == 1) {
            (void)close(fd);
        } else {
            assert_true(test_expect_error(fd, text, sizeof(text)));
            assert_non_null(strstr(text, "descriptor"));
            (void)close(fd);
        }
        expect_answers();
    }
}

/* An empty packet looks like the end of the file, and hides what is behind it. */
static void test_behind_nothing(void **state) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};

    (void)state;
    for (int i = 0; i < 4; i++) {
        int fd = i % 2 ? test_connect(&server, "trainer.sock", SOCK_SEQPACKET)
                       : test_open(&server, "numbers", 4, 1);

        if (i >= 2)
            test_send(fd, &bye, NULL);
        if (send(fd, "", 0, MSG_NOSIGNAL) < 0) /* behind BYE the daemon may be gone already */
            assert_true(i >= 2 && (errno == EPIPE || errno == ECONNRESET));
        send_lingering(fd, &bye, i == 3 ? 0 : sizeof(bye));
        expect_answers();
        (void)close(fd);
        expect_answers();
    }
}

static const uint8_t request[] = {4, 0, 0, 0, 0x08, 0x01, 0x12, 0x00}; /* of the status */

/* It gets no answer, but is told why. */
static void test_told(void **state) {
    int fd = test_control_connect(&server);

    (void)state;
    send_with(fd, request, sizeof(request), fd);
    test_control_expect_error(fd, "the client sent a file descriptor, which is not allowed");
    assert_null(test_control_receive(fd));
    (void)close(fd);
}

static void test_streams(void **state) {
    static const char *const sockets[] = {"control.sock", "copy.sock"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        int fd = test_connect(&server, sockets[i % 2], SOCK_STREAM);

        if (i >= 2)
            assert_int_equal(send(fd, request, 3, 0), 3);
        send_lingering(fd, request, sizeof(request));
        (void)close(fd);
        expect_answers();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_filter_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_trainer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_behind_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_streams, set_up, tear_down),
    };

    if (take_pass_rights_away() < 0) {
        (void)printf("skipped: all: this kernel does not filter calls\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
