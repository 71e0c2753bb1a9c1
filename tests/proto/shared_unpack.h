/* shared_unpack.h: what protobuf-c takes to build a message that leat_message_check() accepts. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/* Checks foreign bytes as the daemon does. If they are accepted they are unpacked, and this aborts
 * if protobuf-c asks for more memory than a fixed number of bytes for each byte of the input: then
 * its time would not be bounded either. Returns what leat_message_check() returned. */
int unpack_within_bounds(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                         size_t n_bytes);
