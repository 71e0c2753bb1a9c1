/* fuzz_client_packet.c: a lying daemon: the input is what it sends to libleat.
 *
 * The first byte's lowest bit picks the endpoint. On the SOCK_STREAM one (copy) all bytes go out as
 * they are. On the SOCK_SEQPACKET one they are cut into packets, each behind a u16 with its size,
 * whose top bit passes a properly sealed memfd that holds the input's last 512 bytes. Each tensor
 * of what is accepted is as large as its shape says; each failure has a text. */
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/leat.h"
#include "client/stream/stream.h"
#include "proto/base/dtype.h"
#include "tests/fuzz/mutate.h"

#define MAX_PACKETS  64
#define MAX_HELD     8
#define MEMORY_BYTES 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
FUZZ_MUTATOR(1, mutate_in_place(data, size, seed))

static int make_memfd(const uint8_t *data, size_t n_bytes) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t size = (n_bytes + 4095) / 4096 * 4096;

    if (fd >= 0 &&
        (ftruncate(fd, (off_t)size) < 0 || pwrite(fd, data, n_bytes, 0) < 0 ||
         fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void send_packet(int socket, const uint8_t *data, size_t n_bytes, int fd) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = n_bytes};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        struct cmsghdr *head;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    }
    (void)sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_packets(int socket, const uint8_t *data, size_t n_bytes) {
    size_t n_memory = n_bytes < MEMORY_BYTES ? n_bytes : MEMORY_BYTES;
    const uint8_t *memory = data + n_bytes - n_memory;

    for (int i = 0; i < MAX_PACKETS && n_bytes >= 2; i++) {
        uint16_t head;
        size_t size;
        int fd = -1;

        memcpy(&head, data, sizeof(head));
        data += sizeof(head);
        n_bytes -= sizeof(head);
        size = (head & 0x7fff) < n_bytes ? (head & 0x7fff) : n_bytes;
        if (head & 0x8000)
            fd = make_memfd(memory, n_memory);
        send_packet(socket, data, size, fd);
        if (fd >= 0)
            (void)close(fd);
        data += size;
        n_bytes -= size;
    }
}

static void read_batch(const struct leat_batch *batch) {
    volatile uint8_t sum = 0;

    for (size_t i = 0; i < leat_batch_n_tensors(batch); i++) {
        const struct leat_tensor *tensor = leat_batch_tensor(batch, i);
        uint64_t n_bytes = leat_dtype_size((enum leat_dtype)tensor->dtype);

        for (uint32_t k = 0; k < tensor->ndim; k++)
            n_bytes *= tensor->shape[k];
        assert(n_bytes == tensor->size_bytes && (uintptr_t)tensor->data % 64 == 0);
        for (uint64_t at = 0; at < tensor->size_bytes; at += 61)
            sum = (uint8_t)(sum + ((const uint8_t *)tensor->data)[at]);
    }
}

static void pull(struct leat_stream *stream) {
    struct leat_batch *batch, *held[MAX_HELD] = {NULL};
    size_t n = 0;
    int r;

    while ((r = leat_stream_next(stream, 0, &batch)) == 0 || r == LEAT_END_EPOCH) {
        if (r == LEAT_END_EPOCH)
            continue;
        read_batch(batch);
        leat_batch_release(held[n % MAX_HELD]);
        held[n++ % MAX_HELD] = batch;
    }
    assert(leat_error_code(leat_stream_error(stream)) == 0 ||
           leat_error_message(leat_stream_error(stream))[0]);
    leat_stream_close(stream);
    for (size_t i = 0; i < MAX_HELD; i++)
        leat_batch_release(held[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_open_options options = {.reconnect_timeout_ms = LEAT_NO_RECONNECT};
    Leat__OpenRequest message = LEAT__OPEN_REQUEST__INIT;
    Leat__Position start = LEAT__POSITION__INIT;
    struct leat_error err = LEAT_ERROR_INIT;
    const struct sockaddr_un nowhere = {.sun_family = AF_UNIX};
    struct leat_stream *stream = NULL;
    int ends[2];
    int is_copy;

    if (n_bytes < 1)
        return 0;
    is_copy = data[0] & 1;
    if (socketpair(AF_UNIX, (is_copy ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0, ends) < 0)
        return 0;
    if (is_copy)
        (void)send(ends[1], data + 1, n_bytes - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    else
        send_packets(ends[1], data + 1, n_bytes - 1);
    (void)shutdown(ends[1], SHUT_WR);
    options.delivery = is_copy ? LEAT_DELIVERY_COPY : LEAT_DELIVERY_SHARED;
    message.world_size = 1;
    message.start = &start;
    if (leat_stream_attach(ends[0], &nowhere, &message, &options, &stream, &err) == 0)
        pull(stream);
    else
        assert(err.code < 0 && err.message[0]);
    (void)close(ends[1]);
    return 0;
}
