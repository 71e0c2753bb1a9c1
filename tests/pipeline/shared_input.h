/* shared_input.h: reads files through inputs, in pieces of any size, and with what is decoded
 * ahead; for the tests of inputs. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/io/input.h"
#include "tests/pipeline/shared_compress.h"

#define READ_MAX (300U << 10)

extern const struct leat_input_limits standard_limits;

size_t below(size_t n); /* a number that is random, and the same in each run */
/* Of many ranges when compressed, and still quickly read: bytes that do not get fewer. */
struct blob make_noise(size_t n_bytes);

/* What an input gives, and how it ends. */
struct result {
    struct blob text;
    struct leat_error err;
    size_t n_adopted;
};

void result_free(struct result *result);
/* with_ahead: tries to go on with inputs that were decoded ahead, now and then. */
struct result read_file(const char *path, const struct leat_input_limits *limits, bool with_ahead);
/* The same for a file FOLDER/in with these bytes. */
struct result read_blob(const struct blob *blob, bool with_ahead);
/* The text came, and no error; what came is a part of the text; reading the file gives the text. */
void check_text(const struct result *result, const struct blob *text);
void check_prefix(const struct result *result, const struct blob *text);
void check_blob(const struct blob *blob, const struct blob *text);
/* Returns how many inputs were taken up in that many readings. */
size_t count_adopted(const struct blob *blob, const struct blob *text, int n_readings);
