/* test_message.c: proto/message.c: bytes that protobuf-c may unpack, and bytes that it must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/leat.pb-c.h"
#include "proto/message.h"
#include "tests/proto/shared_unpack.h"

#define REQUEST (&leat__control_request__descriptor)
#define OPEN    (&leat__open_request__descriptor)
#define SPEC    (&leat__stream_spec__descriptor)
#define VALUE   (&leat__value__descriptor)
#define OPENED  (&leat__opened__descriptor)

struct bytes {
    uint8_t *data;
    size_t n;
};

static void add(struct bytes *bytes, const void *data, size_t n) {
    bytes->data = realloc(bytes->data, bytes->n + n);
    assert_non_null(bytes->data);
    memcpy(bytes->data + bytes->n, data, n);
    bytes->n += n;
}

static void add_times(struct bytes *bytes, const void *data, size_t n, size_t n_times) {
    for (size_t i = 0; i < n_times; i++)
        add(bytes, data, n);
}

static void expect(const ProtobufCMessageDescriptor *descriptor, const struct bytes *bytes,
                   const char *says) {
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_message_check(descriptor, bytes->data, bytes->n, &err);

    assert_int_equal(r, says ? -EPROTO : 0);
    if (says && !strstr(err.message, says))
        fail_msg("expected \"%s\", got \"%s\"", says, err.message);
    assert_int_equal(unpack_within_bounds(descriptor, bytes->data, bytes->n), r);
}

static void test_cases(void **state) {
    static const struct {
        const ProtobufCMessageDescriptor *descriptor;
        uint8_t data[16];
        size_t n;
        const char *says; /* NULL: it is accepted */
    } cases[] = {
        {REQUEST, {0}, 0, NULL},
        {REQUEST, {0x08, 1, 0x12, 0}, 4, NULL},
        {REQUEST, {0x12, 0, 0x08, 1}, 4, NULL},
        /* occurs twice: a number, a text, a message, deeper inside */
        {REQUEST, {0x08, 1, 0x08, 1}, 4, "ControlRequest.version occurs twice"},
        {OPEN, {0x0a, 1, 'a', 0x0a, 1, 'b'}, 6, "OpenRequest.stream occurs twice"},
        {OPEN, {0x12, 0, 0x12, 0}, 4, "OpenRequest.spec occurs twice"},
        {OPEN, {0x12, 0, 0x08, 1, 0x12, 0}, 6, "OpenRequest.spec occurs twice"},
        {OPEN, {0x12, 4, 0x32, 0, 0x32, 0}, 6, "StreamSpec.options occurs twice"},
        {OPEN, {0x12, 4, 0x2a, 0, 0x2a, 0}, 6, "StreamSpec.source occurs twice"},
        {OPEN, {0x1a, 4, 0x08, 1, 0x08, 1}, 6, "Position.epoch occurs twice"},
        /* a verb twice, and two verbs */
        {REQUEST, {0x12, 0, 0x12, 0}, 4, "ControlRequest.status occurs twice"},
        {REQUEST, {0x12, 0, 0x1a, 0}, 4, "ControlRequest.streams occurs twice, or with"},
        {REQUEST, {0x92, 1, 0, 0x12, 0}, 5, "ControlRequest.status occurs twice, or with"},
        /* repeated fields: messages, and numbers, packed or not */
        {SPEC, {0x3a, 0, 0x3a, 0, 0x3a, 0}, 6, NULL},
        {VALUE, {0x22, 0, 0x2a, 0, 0x22, 0, 0x2a, 0}, 8, NULL},
        {OPENED, {0x12, 8, 0x1a, 2, 1, 2, 0x18, 3, 0x18, 4}, 10, NULL},
        /* fields that nobody knows may come again */
        {REQUEST, {0xa0, 6, 1, 0xa0, 6, 1, 0xa2, 6, 1, 'x'}, 10, NULL},
        /* neither groups nor what is cut */
        {REQUEST, {0x0b, 0x0c}, 2, "not protobuf"},
        {REQUEST, {0xa3, 6, 0xa4, 6}, 4, "not protobuf"},
        {REQUEST, {0x12, 1}, 2, "is truncated"},
        {REQUEST, {0x08}, 1, "is truncated"},
        {REQUEST, {0x00, 1}, 2, "not protobuf"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bytes bytes = {.data = (uint8_t *)(uintptr_t)cases[i].data, .n = cases[i].n};

        expect(cases[i].descriptor, &bytes, cases[i].says);
    }
}

/* A large message, and then small ones of the same field: protobuf-c would copy the large one for
 * each of them. */
static void test_merge(void **state) {
    struct bytes bytes = {.n = 0};

    (void)state;
    add(&bytes, "\x32\xf0\x2e", 3); /* options, with 3,000 items */
    add_times(&bytes, "\x22\x00", 2, 3000);
    expect(SPEC, &bytes, NULL);
    add_times(&bytes, "\x32\x02\x22\x00", 4, 1000);
    expect(SPEC, &bytes, "StreamSpec.options occurs twice");
    free(bytes.data);
}

static void test_numbers(void **state) {
    struct bytes values = {.n = 0}, unknown = {.n = 0}, texts = {.n = 0};

    (void)state;
    add_times(&values, "\x22\x00", 2, LEAT_MESSAGE_MAX_COUNT - 1);
    expect(VALUE, &values, NULL);
    add(&values, "\x22\x00", 2);
    expect(VALUE, &values, "contains more than 16384 other messages");
    free(values.data);

    add_times(&unknown, "\xa2\x06\x00", 3, LEAT_MESSAGE_MAX_FIELDS);
    expect(REQUEST, &unknown, NULL);
    add(&unknown, "\xa2\x06\x00", 3);
    expect(REQUEST, &unknown, "more than 65536 fields");
    free(unknown.data);

    add_times(&texts, "\x22\x05\x08\x01\x12\x01x", 7, LEAT_MESSAGE_MAX_COUNT - 1);
    expect(VALUE, &texts, NULL);
    free(texts.data);
}

static void test_depth(void **state) {
    uint8_t data[2 * LEAT_MESSAGE_MAX_DEPTH];
    struct bytes bytes = {.data = data};

    (void)state;
    for (size_t n = 1; n <= LEAT_MESSAGE_MAX_DEPTH; n++) { /* n values in a value */
        data[2 * (LEAT_MESSAGE_MAX_DEPTH - n)] = 0x22;
        data[2 * (LEAT_MESSAGE_MAX_DEPTH - n) + 1] = (uint8_t)(2 * (n - 1));
        bytes.data = data + 2 * (LEAT_MESSAGE_MAX_DEPTH - n);
        bytes.n = 2 * n;
        expect(VALUE, &bytes, n < LEAT_MESSAGE_MAX_DEPTH ? NULL : "deeper than 32");
    }
}

/* leat_message_check() keeps a bit for each field. */
static void test_descriptors(void **state) {
    (void)state;
    assert_in_range(REQUEST->n_fields, 1, 64);
    assert_in_range(OPEN->n_fields, 1, 64);
    assert_in_range(SPEC->n_fields, 1, 64);
}

static void test_unpack(void **state) {
    static const uint8_t good[] = {0x08, 1, 0x12, 0}, bad[] = {0x12, 9, 0x08};
    struct leat_error err = LEAT_ERROR_INIT;
    Leat__ControlRequest *request =
        leat_message_unpack(REQUEST, good, sizeof(good), "no request", &err);

    (void)state;
    assert_non_null(request);
    assert_int_equal(request->verb_case, LEAT__CONTROL_REQUEST__VERB_STATUS);
    leat__control_request__free_unpacked(request, NULL);
    assert_null(leat_message_unpack(REQUEST, bad, sizeof(bad), "no request", &err));
    assert_int_equal(err.code, -EPROTO);
    assert_string_equal(err.message, "no request");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),       cmocka_unit_test(test_merge),
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_depth),
        cmocka_unit_test(test_descriptors), cmocka_unit_test(test_unpack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
