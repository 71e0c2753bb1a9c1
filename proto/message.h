/* message.h: looks over foreign protobuf bytes before protobuf-c builds anything from them.
 *
 * protobuf-c has no limits: it recurses once a nested message, allocates for every message, string
 * and unknown field, and merges a message that occurs twice, in quadratic time. This walk follows
 * the schema. It refuses bytes that nest deeper than LEAT_MESSAGE_MAX_DEPTH, hold more than
 * LEAT_MESSAGE_MAX_COUNT messages or LEAT_MESSAGE_MAX_FIELDS fields (unknown ones included), or
 * contain a field twice that is not repeated. What it accepts is unpacked in a few milliseconds.
 * Pure; any thread.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

#define LEAT_MESSAGE_MAX_DEPTH  32
#define LEAT_MESSAGE_MAX_COUNT  16384
#define LEAT_MESSAGE_MAX_FIELDS 65536

/* 0, or -EPROTO. */
int leat_message_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                       size_t n_bytes, struct leat_error *err);
/* The message, for the caller to free as one of protobuf-c; NULL: -ENOMEM, or -EPROTO and `what`,
 * which says that the bytes are no message of that kind. */
void *leat_message_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                          size_t n_bytes, const char *what, struct leat_error *err);

/* The error value on the wire. */
/* Makes *message refer to err's texts; err must outlive it. */
void leat_error_to_message(const struct leat_error *err, Leat__Error *ret_message);

/* Copies, cut to the error's sizes; a code that is not a negative errno becomes -EPROTO, and an
 * empty text says that there is no reason. */
void leat_error_from_message(struct leat_error *err, const Leat__Error *message);
