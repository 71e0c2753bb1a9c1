/* shared_fake_daemon.c: see shared_fake_daemon.h. */
#include "tests/client/shared_fake_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/base/dtype.h"
#include "proto/frame.h"
#include "proto/leat.pb-c.h"
#include "proto/message.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno));  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static int is_stream_socket(int fd) {
    int type = 0;
    socklen_t size = sizeof(type);

    CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0);
    return type == SOCK_STREAM;
}

static void *run(void *argument) {
    struct fake_daemon *fake = argument;
    int fd;

    while ((fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        fake->serve(fd, fake->argument);
        (void)close(fd);
    }
    return NULL;
}

void fake_daemon_start(struct fake_daemon *fake, int is_stream, void (*serve)(int, void *),
                       void *argument) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *fake = (struct fake_daemon){.serve = serve, .argument = argument, .is_stream = is_stream};
    (void)snprintf(fake->directory, sizeof(fake->directory), "/tmp/leat-fake-XXXXXX");
    CHECK(mkdtemp(fake->directory));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", fake->directory,
                   is_stream ? "copy.sock" : "trainer.sock");
    fake->listener = socket(AF_UNIX, (is_stream ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0);
    CHECK(fake->listener >= 0);
    CHECK(bind(fake->listener, (struct sockaddr *)&address, sizeof(address)) == 0);
    CHECK(listen(fake->listener, 4) == 0);
    CHECK(pthread_create(&fake->thread, NULL, run, fake) == 0);
}

void fake_daemon_stop(struct fake_daemon *fake) {
    char path[128];

    (void)shutdown(fake->listener, SHUT_RDWR);
    CHECK(pthread_join(fake->thread, NULL) == 0);
    (void)close(fake->listener);
    (void)snprintf(path, sizeof(path), "%s/%s", fake->directory,
                   fake->is_stream ? "copy.sock" : "trainer.sock");
    (void)unlink(path);
    CHECK(rmdir(fake->directory) == 0);
}

static void send_bytes(int fd, const void *bytes, size_t n_bytes) {
    const char *at = bytes;

    while (n_bytes > 0) {
        ssize_t n = send(fd, at, n_bytes, MSG_NOSIGNAL);

        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* the client had enough of the lies */
        CHECK(n > 0);
        at += n;
        n_bytes -= (size_t)n;
    }
}

void fake_send(int fd, const struct leat_packet *packet, const void *payload, int pass_fd) {
    uint8_t head[LEAT_FRAME_HEAD_BYTES];
    int r;

    if (is_stream_socket(fd)) {
        leat_frame_head(head, (uint32_t)sizeof(*packet) + packet->payload_bytes);
        send_bytes(fd, head, sizeof(head));
        send_bytes(fd, packet, sizeof(*packet));
        send_bytes(fd, payload, packet->payload_bytes);
        return;
    }
    r = leat_packet_send(fd, packet, payload, pass_fd, 1);
    CHECK(r == 0 || r == -EPIPE || r == -ECONNRESET);
}

static int receive_bytes(int fd, void *bytes, size_t n_bytes) {
    char *at = bytes;

    while (n_bytes > 0) {
        ssize_t n = recv(fd, at, n_bytes, 0);

        if (n <= 0)
            return 0;
        at += n;
        n_bytes -= (size_t)n;
    }
    return 1;
}

static int receive_packet(int fd, struct leat_packet *ret_packet, void *payload) {
    uint8_t head[LEAT_FRAME_HEAD_BYTES];
    int r;

    if (is_stream_socket(fd)) {
        if (!receive_bytes(fd, head, sizeof(head)) ||
            !receive_bytes(fd, ret_packet, sizeof(*ret_packet)))
            return 0;
        return receive_bytes(fd, payload, ret_packet->payload_bytes);
    }
    r = leat_packet_receive(fd, ret_packet, payload, NULL, 1);
    CHECK(r >= 0 || r == -ECONNRESET);
    return r > 0;
}

int fake_receive(int fd, struct leat_packet *ret_packet) {
    static _Thread_local uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];

    return receive_packet(fd, ret_packet, payload);
}

void fake_greet(int fd) {
    struct leat_packet packet;
    struct leat_packet welcome = {
        .kind = LEAT_PACKET_WELCOME,
        .hello = {.magic = LEAT_PACKET_MAGIC, .major = LEAT_PROTOCOL_MAJOR, .session = 7}};

    CHECK(fake_receive(fd, &packet));
    CHECK(packet.kind == LEAT_PACKET_HELLO && packet.hello.magic == LEAT_PACKET_MAGIC);
    fake_send(fd, &welcome, NULL, -1);
}

Leat__OpenRequest *fake_take_open(int fd) {
    static _Thread_local uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    Leat__OpenRequest *request;
    struct leat_packet packet;

    if (!receive_packet(fd, &packet, payload))
        return NULL;
    CHECK(packet.kind == LEAT_PACKET_OPEN);
    request = leat__open_request__unpack(NULL, packet.payload_bytes, payload);
    CHECK(request);
    return request;
}

void fake_open(int fd, uint32_t window) {
    Leat__OpenRequest *request;

    fake_greet(fd);
    request = fake_take_open(fd);
    CHECK(request);
    leat__open_request__free_unpacked(request, NULL);
    fake_opened(fd, window);
}

void fake_opened(int fd, uint32_t window) {
    int64_t shape[2] = {2, -1};
    uint8_t digest[32] = {1, 2, 3}, payload[1024];
    Leat__Tensor tensor = LEAT__TENSOR__INIT, *tensors[1] = {&tensor};
    Leat__Opened opened = LEAT__OPENED__INIT;
    struct leat_packet packet;

    tensor.name = (char *)(uintptr_t) "x";
    tensor.dtype = (char *)(uintptr_t) "int32";
    tensor.shape = shape;
    tensor.n_shape = 2;
    opened.stream = (char *)(uintptr_t) "s";
    opened.tensors = tensors;
    opened.n_tensors = 1;
    opened.window = window;
    opened.batch_size = 2;
    opened.order_version = 5;
    opened.has_constant_steps = 1;
    opened.files = (char *)(uintptr_t)FAKE_FILES;
    opened.spec_digest.data = digest;
    opened.spec_digest.len = sizeof(digest);
    packet =
        (struct leat_packet){.kind = LEAT_PACKET_OPENED,
                             .payload_bytes = (uint32_t)leat__opened__get_packed_size(&opened)};
    CHECK(packet.payload_bytes <= sizeof(payload));
    leat__opened__pack(&opened, payload);
    fake_send(fd, &packet, payload, -1);
}

void fake_refuse(int fd, uint16_t kind, int code, const char *message) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_packet packet = {.kind = kind};
    uint8_t payload[1024];
    Leat__Error error;

    leat_error_set(&err, code, "%s", message);
    leat_error_locate(&err, "a.csv", 14, 3);
    leat_error_to_message(&err, &error);
    packet.payload_bytes = (uint32_t)leat__error__pack(&error, payload);
    fake_send(fd, &packet, payload, -1);
}

void fake_ring(int fd, int memfd, uint64_t generation, uint32_t n_slots) {
    struct leat_packet packet = {
        .kind = LEAT_PACKET_RING,
        .ring = {.generation = generation, .slot_bytes = FAKE_SLOT_BYTES, .n_slots = n_slots}};

    fake_send(fd, &packet, NULL, memfd);
    if (memfd >= 0)
        (void)close(memfd);
}

size_t fake_fill_slot(void *slot, uint64_t epoch, uint64_t step) {
    struct leat_slot_header *header = slot;
    struct leat_slot_tensor *tensor = (struct leat_slot_tensor *)(header + 1);
    int32_t *values = (int32_t *)(void *)((char *)slot + leat_slot_head_bytes(1));

    memset(slot, 0, FAKE_SLOT_BYTES);
    *tensor = (struct leat_slot_tensor){.name = "x",
                                        .dtype = LEAT_DTYPE_INT32,
                                        .ndim = 2,
                                        .shape = {2, 3},
                                        .offset = leat_slot_head_bytes(1),
                                        .size_bytes = 24};
    for (int32_t i = 0; i < 6; i++)
        values[i] = (int32_t)step + i;
    *header = (struct leat_slot_header){.magic = LEAT_SLOT_MAGIC,
                                        .version = LEAT_SLOT_VERSION,
                                        .n_tensors = 1,
                                        .used_bytes = tensor->offset + 24,
                                        .epoch = epoch,
                                        .step = step,
                                        .n_rows = 2};
    return (size_t)header->used_bytes;
}

static size_t used_bytes(void) {
    return leat_slot_head_bytes(1) + 24;
}

int fake_memfd(uint32_t n_slots, uint64_t epoch, uint64_t first_step, int seals) {
    size_t size = (size_t)n_slots * FAKE_SLOT_BYTES;
    int fd = memfd_create("leat-fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char *memory;

    CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    for (uint32_t i = 0; i < n_slots; i++)
        (void)fake_fill_slot(memory + (size_t)i * FAKE_SLOT_BYTES, epoch, first_step + i);
    CHECK(munmap(memory, size) == 0);
    CHECK(seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

void fake_batch(int fd, uint64_t generation, uint32_t slot, uint64_t epoch, uint64_t step) {
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH,
                                 .batch = {.generation = generation,
                                           .epoch = epoch,
                                           .step = step,
                                           .used_bytes = used_bytes(),
                                           .slot = slot}};

    fake_send(fd, &packet, NULL, -1);
}

void fake_copy(int fd, uint64_t epoch, uint64_t step) {
    _Alignas(64) char slot[FAKE_SLOT_BYTES];
    char compressed[FAKE_SLOT_BYTES * 2];
    int n_used = (int)fake_fill_slot(slot, epoch, step);
    int n = LZ4_compress_default(slot, compressed, n_used, sizeof(compressed));
    struct leat_packet packet = {
        .kind = LEAT_PACKET_BATCH,
        .payload_bytes = (uint32_t)n,
        .batch = {.generation = 1, .epoch = epoch, .step = step, .used_bytes = (uint64_t)n_used}};

    fake_send(fd, &packet, compressed, -1);
}

void fake_end(int fd, uint64_t epoch, uint32_t is_last) {
    struct leat_packet packet = {.kind = LEAT_PACKET_END,
                                 .end = {.epoch = epoch, .is_last = is_last}};

    fake_send(fd, &packet, NULL, -1);
}

void fake_wait_for_end(int fd) {
    struct leat_packet packet;

    while (fake_receive(fd, &packet))
        ;
}

void fake_check_batch(const struct leat_batch *batch, uint64_t epoch, uint64_t step) {
    const struct leat_tensor *x = leat_batch_find(batch, "x");

    assert_int_equal(leat_batch_epoch(batch), epoch);
    assert_int_equal(leat_batch_step(batch), step);
    assert_non_null(x);
    for (int32_t i = 0; i < 6; i++)
        assert_int_equal(((const int32_t *)x->data)[i], (int32_t)step + i);
}

/* ---- a stream ---- */

int fake_session_try(struct fake_session *session, int is_stream, void (*serve)(int, void *),
                     void *argument, struct leat_open_options *options) {
    struct leat_open_options standard;

    leat_open_options_init(&standard);
    if (!options)
        options = &standard;
    if (is_stream)
        options->delivery = LEAT_DELIVERY_COPY;
    *session = (struct fake_session){.client = NULL};
    fake_daemon_start(&session->fake, is_stream, serve, argument);
    assert_int_equal(leat_client_new(session->fake.directory, &session->client), 0);
    return leat_client_open(session->client, "s", options, &session->stream);
}

void fake_session_begin(struct fake_session *session, int is_stream, void (*serve)(int, void *),
                        void *argument, struct leat_open_options *options) {
    if (fake_session_try(session, is_stream, serve, argument, options) < 0)
        fail_msg("%s", leat_error_text(leat_client_error(session->client)));
}

struct leat_batch *fake_session_next(struct fake_session *session) {
    struct leat_batch *batch = NULL;
    int r = leat_stream_next(session->stream, FAKE_HANG_MS, &batch);

    if (r != 0)
        fail_msg("%d: %s", r, leat_error_text(leat_stream_error(session->stream)));
    return batch;
}

void fake_session_end(struct fake_session *session) {
    leat_stream_close(session->stream);
    leat_client_free(session->client);
    fake_daemon_stop(&session->fake);
}
