/* error_text.c: the error value for callers of the library, and its version. See leat.h. */
#include <stdlib.h>

#include "client/leat.h"
#include "proto/base/error.h"

const char *leat_version(void) {
    return LEAT_VERSION;
}

int leat_error_code(const struct leat_error *error) {
    return error->code;
}

const char *leat_error_message(const struct leat_error *error) {
    return error->message;
}

const char *leat_error_file(const struct leat_error *error) {
    return error->file;
}

uint32_t leat_error_line(const struct leat_error *error) {
    return error->line;
}

uint32_t leat_error_column(const struct leat_error *error) {
    return error->column;
}

const char *leat_error_path(const struct leat_error *error) {
    return error->path;
}

struct leat_error *leat_error_copy(const struct leat_error *error) {
    struct leat_error *copy = malloc(sizeof(*copy));

    if (copy)
        *copy = *error;
    return copy;
}

struct leat_error *leat_error_free(struct leat_error *error) {
    free(error);
    return NULL;
}

const char *leat_error_text(const struct leat_error *error) {
    static _Thread_local char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(error, text, sizeof(text));
    return text;
}
