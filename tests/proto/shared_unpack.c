/* shared_unpack.c: see shared_unpack.h. */
#include "tests/proto/shared_unpack.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/message.h"

#define BYTES_A_BYTE 256 /* a value of two bytes becomes a struct of a hundred */
#define BYTES_MORE   8192

struct cost {
    size_t n_allocations, n_bytes;
};

static void *take(void *data, size_t size) {
    struct cost *cost = data;

    cost->n_allocations++;
    cost->n_bytes += size;
    return malloc(size ? size : 1);
}

static void give_back(void *data, void *pointer) {
    (void)data;
    free(pointer);
}

int unpack_within_bounds(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                         size_t n_bytes) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct cost cost = {.n_bytes = 0};
    ProtobufCAllocator allocator = {.alloc = take, .free = give_back, .allocator_data = &cost};
    ProtobufCMessage *message;
    int r = leat_message_check(descriptor, data, n_bytes, &err);

    if (r < 0)
        return r;
    message = protobuf_c_message_unpack(descriptor, &allocator, n_bytes, data);
    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
    if (cost.n_bytes > BYTES_MORE + BYTES_A_BYTE * n_bytes ||
        cost.n_allocations > 3 * (size_t)LEAT_MESSAGE_MAX_FIELDS) {
        (void)fprintf(stderr, "%s of %zu bytes: %zu allocations, %zu bytes\n", descriptor->name,
                      n_bytes, cost.n_allocations, cost.n_bytes);
        abort();
    }
    return 0;
}
