/* message.h: looks over foreign protobuf bytes before protobuf-c builds anything from them.
 *
 * protobuf-c recurses once a nested message and allocates for every one, without limits: 64 KiB of
 * nested values would run through the stack. This walk follows the schema and refuses bytes that
 * nest deeper than LEAT_MESSAGE_MAX_DEPTH or hold more than LEAT_MESSAGE_MAX_COUNT messages. Pure;
 * any thread.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/error.h"

#define LEAT_MESSAGE_MAX_DEPTH 32
#define LEAT_MESSAGE_MAX_COUNT 131072

/* 0, or -EPROTO: cut, nested too deep or too many. */
int leat_message_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                       size_t n_bytes, struct leat_error *err);
