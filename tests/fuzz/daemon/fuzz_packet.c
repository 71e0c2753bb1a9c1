/* fuzz_packet.c: a lying trainer: the input is what it says to the daemon.
 *
 * The first byte's lowest bit picks the endpoint. On the SOCK_STREAM one (copy) all other bytes go
 * out as they are. On the SOCK_SEQPACKET one they are cut into packets, each behind a u16 with its
 * size; bit 14 lets the daemon do all its work first, bit 15 passes a descriptor. Whatever was
 * said, in the end nothing of it may be left in the daemon, and what is unpacked of an OPEN takes
 * memory in proportion to its size.
 */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/trainer/session.h"
#include "proto/leat.pb-c.h"
#include "tests/daemon/shared_stepped.h"
#include "tests/fuzz/mutate.h"
#include "tests/proto/shared_unpack.h"

#define MAX_PACKETS 200
#define SIZE_BITS   0x3fff
#define WAIT_BIT    0x4000
#define PASS_BIT    0x8000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
FUZZ_MUTATOR(1, mutate_in_place(data, size, seed))

static void read_away(int fd) {
    static uint8_t bytes[LEAT_PACKET_PAYLOAD_MAX + 128];

    for (int i = 0; i < 64; i++) {
        struct leat_packet packet;
        size_t n_more;
        int passed = -1;

        if (leat_packet_receive_joined(fd, &packet, bytes, &n_more, &passed, 0) <= 0)
            return;
        if (passed >= 0)
            (void)close(passed);
    }
}

static void send_packet(int fd, const uint8_t *data, size_t n_bytes, int passed) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = n_bytes};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (passed >= 0) {
        struct cmsghdr *head;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &passed, sizeof(passed));
    }
    (void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_packets(struct leat_daemon *daemon, int fd, const uint8_t *data, size_t n_bytes) {
    for (int i = 0; i < MAX_PACKETS && n_bytes >= sizeof(uint16_t); i++) {
        uint16_t head;
        size_t size;

        memcpy(&head, data, sizeof(head));
        data += sizeof(head);
        n_bytes -= sizeof(head);
        size = (head & SIZE_BITS) < n_bytes ? (head & SIZE_BITS) : n_bytes;
        if (head & WAIT_BIT) {
            test_stepped_run(daemon);
            read_away(fd);
        }
        if (size > sizeof(struct leat_packet))
            (void)unpack_within_bounds(&leat__open_request__descriptor,
                                       data + sizeof(struct leat_packet),
                                       size - sizeof(struct leat_packet));
        send_packet(fd, data, size, head & PASS_BIT ? STDIN_FILENO : -1);
        data += size;
        n_bytes -= size;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_daemon *daemon;
    int ends[2], is_copy;

    if (n_bytes < 1)
        return 0;
    daemon = test_stepped_daemon();
    is_copy = data[0] & 1;
    if (socketpair(AF_UNIX, (is_copy ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   0, ends) < 0)
        return 0;
    (void)leat_session_accept(&daemon->sessions, ends[0],
                              is_copy ? &leat_delivery_copy : &leat_delivery_shared);
    if (is_copy)
        (void)send(ends[1], data + 1, n_bytes - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    else
        send_packets(daemon, ends[1], data + 1, n_bytes - 1);
    test_stepped_run(daemon);
    (void)close(ends[1]);
    test_stepped_run(daemon);
    test_stepped_end(daemon);
    assert(daemon->sessions.n_sessions == 0 && !daemon->users.first);
    for (int i = 0; i < LEAT_N_CHARGES; i++)
        assert(daemon->users.used[i] == 0);
    return 0;
}
