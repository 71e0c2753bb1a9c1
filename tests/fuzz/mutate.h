/* mutate.h: changes of an input that keep its structure, for the LLVMFuzzerCustomMutator() of a
 * target. Each returns the new size, at most max_size. The same seed makes the same change. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/* What libFuzzer, and replay.c without it, do to bytes of no known structure. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* A message stays one: a field of it, at whatever depth, gets another value, is doubled or gone.
 * Bytes that are no message are changed as bytes. */
size_t mutate_message(const ProtobufCMessageDescriptor *descriptor, uint8_t *data, size_t size,
                      size_t max_size, unsigned seed);

/* Frames, each behind a u32 with its size: one of them is changed as a message, doubled or gone. */
size_t mutate_frames(const ProtobufCMessageDescriptor *descriptor, uint8_t *data, size_t size,
                     size_t max_size, unsigned seed);

/* A text with brackets, quotes and lines: what is whole between two of these is doubled, moved or
 * gone, and numbers become extreme ones. YAML, JSON and templates stay balanced. */
size_t mutate_text(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Bytes with offsets and lengths in them: all places stay where they are. Numbers of 1, 4 and 8
 * bytes become extreme ones, or those of another place. */
size_t mutate_in_place(uint8_t *data, size_t size, unsigned seed);

/* The LLVMFuzzerCustomMutator() of a target whose input begins with `skip` bytes that choose
 * something. `call` is one of the above, with `data`, `size`, `max_size` and `seed`. Each second
 * change is of bytes. */
#define FUZZ_MUTATOR(skip, call)                                                                   \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {   \
        if (seed % 2 || size <= (skip))                                                            \
            return LLVMFuzzerMutate(data, size, max_size);                                         \
        data += (skip), size -= (skip), max_size -= (skip), seed /= 2;                             \
        return (skip) + (call);                                                                    \
    }
