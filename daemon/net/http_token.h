/* http_token.h: the token that the HTTP listener asks for: the setting http_token_file.
 *
 * Whoever reads the file may look, so it must not be for everybody. Pure but for reading the file;
 * any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"

#define LEAT_HTTP_TOKEN_MIN 16
#define LEAT_HTTP_TOKEN_MAX 256

struct leat_http_token {
    size_t n; /* 0: none is asked for */
    char text[LEAT_HTTP_TOKEN_MAX];
};

/* The file's only line. -EPERM: others may read the file, or a stranger owns it. May block. */
int leat_http_token_read(const char *path, struct leat_http_token *ret_token,
                         struct leat_error *err);

/* authorization: the header's value, argument: of the query; NULL: none. What is compared takes a
 * time that does not depend on what is right. */
bool leat_http_token_fits(const struct leat_http_token *token, const char *authorization,
                          const char *argument);
