/* position.c: see position.h. Nothing but what leat_position_print() writes is read, so that texts
 * of the same position are equal. */
#include "proto/position.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/blake2b.h"

#define VERSION "leat1"

#define HEX_SIZE (2 * LEAT_POSITION_DIGEST_BYTES + 1)

size_t leat_position_print(const struct leat_position *position,
                           char ret_text[LEAT_POSITION_TEXT_SIZE]) {
    char spec[HEX_SIZE], data[HEX_SIZE];

    leat_hex(position->spec, sizeof(position->spec), spec);
    leat_hex(position->data, sizeof(position->data), data);
    return (size_t)snprintf(ret_text, LEAT_POSITION_TEXT_SIZE,
                            VERSION ":spec=%s:data=%s:seed=%" PRIu64 ":epoch=%" PRIu64
                                    ":step=%" PRIu64 ":world=%" PRIu32,
                            spec, data, position->seed, position->epoch, position->step,
                            position->world_size);
}

/* Passes over ":name=". */
static int read_name(const char **at, const char *name, struct leat_error *err) {
    size_t n = strlen(name);

    if (**at != ':' || strncmp(*at + 1, name, n) != 0 || (*at)[n + 1] != '=')
        return leat_error_set(
            err, -EINVAL, "\"%.16s\" is not valid here in a position: write \":%s=\"", *at, name);
    *at += n + 2;
    return 0;
}

static int digit_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_digest(const char **at, const char *name, uint8_t *ret_bytes,
                       struct leat_error *err) {
    int r = read_name(at, name, err);

    for (size_t i = 0; r == 0 && i < 2 * LEAT_POSITION_DIGEST_BYTES; i++, (*at)++) {
        int digit = digit_of(**at);

        if (digit < 0)
            return leat_error_set(err, -EINVAL,
                                  "the digest after \"%s=\" has %zu digits, but it must have %d "
                                  "digits from 0 to 9 and a to f",
                                  name, i, 2 * LEAT_POSITION_DIGEST_BYTES);
        ret_bytes[i / 2] = (uint8_t)(ret_bytes[i / 2] << 4 | digit);
    }
    return r;
}

static int read_number(const char **at, const char *name, uint64_t min, uint64_t max,
                       uint64_t *ret_number, struct leat_error *err) {
    int r = read_name(at, name, err);
    const char *start = *at;
    uint64_t number = 0;
    bool is_too_large = false;

    if (r < 0)
        return r;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');

        is_too_large = is_too_large || number > (UINT64_MAX - digit) / 10;
        number = number * 10 + digit;
    }
    if (*at == start || (*start == '0' && *at > start + 1))
        return leat_error_set(err, -EINVAL, "\"%.16s\" after \"%s=\" is not a number", start, name);
    if (is_too_large || number < min || number > max)
        return leat_error_set(err, -EINVAL, "%s=%.*s is outside %" PRIu64 "..%" PRIu64, name,
                              (int)(*at - start < 32 ? *at - start : 32), start, min, max);
    *ret_number = number;
    return 0;
}

static int read_fields(const char **at, struct leat_position *position, struct leat_error *err) {
    uint64_t world_size = 0;
    int r = read_digest(at, "spec", position->spec, err);

    if (r == 0)
        r = read_digest(at, "data", position->data, err);
    if (r == 0)
        r = read_number(at, "seed", 0, UINT64_MAX, &position->seed, err);
    if (r == 0)
        r = read_number(at, "epoch", 0, UINT64_MAX, &position->epoch, err);
    if (r == 0)
        r = read_number(at, "step", 0, UINT64_MAX, &position->step, err);
    if (r == 0)
        r = read_number(at, "world", 1, UINT32_MAX, &world_size, err);
    position->world_size = (uint32_t)world_size;
    return r;
}

int leat_position_read(const char *text, struct leat_position *ret_position,
                       struct leat_error *err) {
    struct leat_position position = {.world_size = 0};
    size_t n = strnlen(text, LEAT_POSITION_TEXT_SIZE + 1);
    const char *at = text + sizeof(VERSION) - 1;
    int r;

    if (n > LEAT_POSITION_TEXT_SIZE)
        return leat_error_set(err, -EINVAL, "a position has at most %d bytes",
                              LEAT_POSITION_TEXT_SIZE - 1);
    if (strncmp(text, VERSION ":", sizeof(VERSION)) != 0)
        return leat_error_set(
            err, -EINVAL,
            "\"%.16s\" is not a position: use a text from leat_stream_position(), Stream.position "
            "or `leatctl run --save-position`, which begins with \"" VERSION ":spec=\"",
            text);
    r = read_fields(&at, &position, err);
    if (r < 0)
        return r;
    at += *at == '\n';
    if (*at)
        return leat_error_set(err, -EINVAL,
                              "\"%.16s\" comes after the end of the position: remove it", at);
    *ret_position = position;
    return 0;
}
