#include "proto/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"

static void copy_text(char *target, size_t size, const char *text) {
    size_t n = strnlen(text, size - 1);

    memcpy(target, text, n);
    target[n] = '\0';
}

int leat_error_setv(struct leat_error *err, int code, const char *format, va_list ap) {
    if (err->code)
        return err->code;
    err->code = code;
    (void)vsnprintf(err->message, sizeof(err->message), format, ap);
    return code;
}

int leat_error_set(struct leat_error *err, int code, const char *format, ...) {
    va_list ap;
    int r;

    va_start(ap, format);
    r = leat_error_setv(err, code, format, ap);
    va_end(ap);
    return r;
}

int leat_error_oom(struct leat_error *err) {
    return leat_error_set(err, -ENOMEM, "out of memory");
}

int leat_error_agree(struct leat_error *err, int r) {
    if (r == -ENOMEM)
        leat_error_oom(err);
    else if (r < 0)
        leat_error_set(err, r, "%s", strerror(-r));
    return err->code ? err->code : r;
}

void leat_error_locate(struct leat_error *err, const char *file, uint32_t line, uint32_t column) {
    if (file && err->file[0] && strncmp(file, err->file, sizeof(err->file) - 1) != 0)
        return;
    if (file && !err->file[0])
        copy_text(err->file, sizeof(err->file), file);
    if (!err->line) {
        err->line = line;
        err->column = column;
    }
}

void leat_error_prefix(struct leat_error *err, const char *format, ...) {
    char part[LEAT_ERROR_PATH_MAX];
    char whole[LEAT_ERROR_PATH_MAX * 2];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(part, sizeof(part), format, ap);
    va_end(ap);
    (void)snprintf(whole, sizeof(whole), "%s%s%s", part,
                   err->path[0] && err->path[0] != '[' ? "." : "", err->path);
    copy_text(err->path, sizeof(err->path), whole);
}

size_t leat_error_print(const struct leat_error *err, char *buffer, size_t size) {
    char where[LEAT_ERROR_FILE_MAX + 32] = "", whole[LEAT_ERROR_PRINT_MAX];

    if (size == 0)
        return 0;
    if (err->file[0] && err->line && err->column)
        (void)snprintf(where, sizeof(where), "%s:%u:%u: ", err->file, err->line, err->column);
    else if (err->file[0] && err->line)
        (void)snprintf(where, sizeof(where), "%s:%u: ", err->file, err->line);
    else if (err->file[0])
        (void)snprintf(where, sizeof(where), "%s: ", err->file);
    (void)snprintf(whole, sizeof(whole), "%s%s%s%s", where, err->path, err->path[0] ? ": " : "",
                   err->message);
    (void)leat_show(buffer, size, whole);
    return strlen(buffer);
}
