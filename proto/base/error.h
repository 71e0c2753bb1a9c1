/* error.h: the error value that travels worker -> loop -> socket -> trainer.
 *
 * A fixed-size value without allocation. First writer wins: once `code` is set, later sets are
 * ignored; outer layers only put their part in front of `path` (leat_error_prefix). One printed
 * form everywhere:
 *
 *     file:line:column: path: message
 *
 * where absent parts are left out. Any thread; the value belongs to its holder.
 *
 * A function that reports into a `struct leat_error *` never takes NULL there: a caller that needs
 * no reason passes LEAT_ERROR_IGNORED. tests/check/house_rules.py looks for NULL at such places.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_ERROR_FILE_MAX    256
#define LEAT_ERROR_PATH_MAX    192
#define LEAT_ERROR_MESSAGE_MAX 512
#define LEAT_ERROR_PRINT_MAX                                                                       \
    (LEAT_ERROR_FILE_MAX + LEAT_ERROR_PATH_MAX + LEAT_ERROR_MESSAGE_MAX + 32)

struct leat_error {
    int code;        /* negative errno; 0: no error */
    uint32_t line;   /* from 1; 0: unknown */
    uint32_t column; /* in bytes, from 1; 0: unknown */
    char file[LEAT_ERROR_FILE_MAX];
    char path[LEAT_ERROR_PATH_MAX];
    char message[LEAT_ERROR_MESSAGE_MAX];
};

#define LEAT_ERROR_INIT    ((struct leat_error){.code = 0})
#define LEAT_ERROR_IGNORED (&LEAT_ERROR_INIT)

/* Sets code and message; returns `code` (negative errno), so that `return leat_error_set(err,
 * -EINVAL, ...)` reads well. Does nothing but return the first code if an error is already set. */
__attribute__((format(printf, 3, 4))) int leat_error_set(struct leat_error *err, int code,
                                                         const char *format, ...);
__attribute__((format(printf, 3, 0))) int leat_error_setv(struct leat_error *err, int code,
                                                          const char *format, va_list ap);

/* Out of memory: the message that everybody gives. */
int leat_error_oom(struct leat_error *err);

/* Makes a result and its error agree, for callers that go by err->code later: a negative r without
 * an error sets the error of that code. Returns err->code, or r if there is no error. */
int leat_error_agree(struct leat_error *err, int r);

/* Fills in where, as far as it is not known: file may be NULL, line and column 0. A line is never
 * put to another file than its own. */
void leat_error_locate(struct leat_error *err, const char *file, uint32_t line, uint32_t column);

/* Puts a part in front of the path: "shuffle" becomes "stages[3].shuffle"; a '.' is put between
 * unless the path starts with '['. */
__attribute__((format(printf, 2, 3))) void leat_error_prefix(struct leat_error *err,
                                                             const char *format, ...);

/* Writes the printed form, always terminated; returns its length (cut to size - 1). Control bytes
 * are written \xNN. */
size_t leat_error_print(const struct leat_error *err, char *buffer, size_t size);
