/* http_token.h: the token that the HTTP listener asks for, from the setting http_token_file.
 *
 * Any user who can read the file may look, so it must not be readable by all. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"

#define LEAT_HTTP_TOKEN_MIN 16
#define LEAT_HTTP_TOKEN_MAX 256

struct leat_http_token {
    size_t n; /* 0: no token is needed */
    char text[LEAT_HTTP_TOKEN_MAX];
};

/* Reads the file's only line. -EPERM: other users can read the file, or own it. May block. */
int leat_http_token_read(const char *path, struct leat_http_token *ret_token,
                         struct leat_error *err);

/* authorization: the header's value; argument: that of the query; either may be NULL. The time of
 * the comparison does not depend on the token. */
bool leat_http_token_fits(const struct leat_http_token *token, const char *authorization,
                          const char *argument);
