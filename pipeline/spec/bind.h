/* bind.h: a stage's arguments, declared once in a table; untyped values are checked against it and
 * written into a struct.
 *
 * From the table come: parsing, defaults, ranges, error positions, `leatctl stages`, the reference
 * page, Python's keyword arguments. A config struct begins with `struct leat_config`; an argument
 * is written to the member at `offset`, whose C type follows from the argument's type:
 *
 *     BOOL bool          INT, BYTES, SECONDS int64_t       FLOAT double
 *     CHOICE, DTYPE int  TEXT, PATH, FIELD const char *    TEXTS, FIELDS, PATHS struct leat_texts
 *     MAP struct leat_text_map       TOKEN struct leat_token_value
 *     SOURCES const struct leat_value *, as written        GROUP a struct with leat_config first
 *
 * TEXT keeps what was written, byte for byte. PATH and PATHS stay as written; leat_config_path()
 * resolves one against the file that names it. Memory of values is owned by the config and freed by
 * leat_config_deinit().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/dtype.h"
#include "proto/base/error.h"
#include "proto/base/texts.h"
#include "proto/slot.h"
#include "proto/spec.h"

enum leat_arg_type {
    LEAT_ARG_BOOL,
    LEAT_ARG_INT,
    LEAT_ARG_FLOAT,
    LEAT_ARG_TEXT,
    LEAT_ARG_CHOICE, /* one of `choices`; the member is its index */
    LEAT_ARG_DTYPE,  /* enum leat_dtype; `choices`, if any, limits it by name */
    LEAT_ARG_FIELD,  /* the name of a field: 1..LEAT_NAME_MAX bytes */
    LEAT_ARG_PATH,
    LEAT_ARG_BYTES,   /* a number of bytes, as 4096, 500MB or 4GiB */
    LEAT_ARG_SECONDS, /* a time, as 90s, 12h or 30d */
    LEAT_ARG_TEXTS,   /* a list; a single scalar counts as a list of one */
    LEAT_ARG_FIELDS,
    LEAT_ARG_PATHS,
    LEAT_ARG_MAP,     /* text -> text */
    LEAT_ARG_SOURCES, /* a list of sources: a name with its arguments, and stages of its own */
    LEAT_ARG_TOKEN,   /* struct leat_token_value: a number, or the name of a token */
    LEAT_ARG_GROUP,   /* a map with a table of its own, `group`; all zero if it is not given */
};

struct leat_arg {
    const char *name;
    enum leat_arg_type type;
    size_t offset;
    bool is_required;
    const char *fallback; /* default, as it would be written; NULL: none (zero, and not given) */
    double min, max; /* INT, FLOAT, BYTES, SECONDS (inclusive; both 0: unbounded). TEXTS, FIELDS,
                        PATHS, MAP, SOURCES: number of items */
    const char *const *choices; /* NULL-terminated */
    const struct leat_arg *group;
    const char *help;   /* one sentence */
    bool is_aside;      /* no value changes the batches: it is not part of the spec's digest */
    bool is_positional; /* Python may give it without its name, in the order of the table */
};

/* A row of a table of arguments: it fills a member of struct `owner` and is called as that, or
 * `text`. The help comes first, then other members of struct leat_arg. */
#define LEAT_ARG_NAMED(text, owner, member, kind, ...)                                             \
    {                                                                                              \
        .name = text, .type = LEAT_ARG_##kind, .offset = offsetof(struct owner, member),           \
        .help = __VA_ARGS__                                                                        \
    }
#define LEAT_ARG(owner, member, kind, ...) LEAT_ARG_NAMED(#member, owner, member, kind, __VA_ARGS__)

#define LEAT_ARG_MAX 32
#define LEAT_ARGS_END                                                                              \
    { .name = NULL }

struct leat_text_map {
    char **keys;
    char **values;
    size_t n_items;
};

struct leat_token_value {
    double number;
    char *name; /* NULL: it is the number */
};

struct leat_stage_ops;

struct leat_config {
    const struct leat_stage_ops *ops;
    const struct leat_arg *args;
    const struct leat_value *values; /* as written, for positions; lives in the spec */
    const char *file;                /* of the spec; may be NULL */
    const char *group;               /* the name of this group; NULL: it is none */
    uint32_t line, column;           /* of the stage */
    uint64_t given;                  /* bit i: args[i] was written */
};

/* Checks `values` (a map or NULL-kind) against the table and fills *config (zeroed by the caller,
 * at least its struct's size). Unknown keys name the nearest known one. Errors have line, column
 * and the argument as path. */
int leat_config_bind(struct leat_config *config, const struct leat_arg *args,
                     const struct leat_value *values, const char *file, uint32_t line,
                     uint32_t column, struct leat_error *err);
void leat_config_deinit(struct leat_config *config);

/* True if that argument was written. */
bool leat_config_given(const struct leat_config *config, const char *arg);

/* Sets the text of an argument that was left out, where the default must not show: a spec with it
 * and one that says the same are one stream. Does nothing if it has a text. 0 or -ENOMEM. */
int leat_config_default(const char **text, const char *fallback, struct leat_error *err);

/* Sets an error at that argument (or at the stage, if it was not written; arg NULL: the stage).
 * Returns -EINVAL. */
__attribute__((format(printf, 4, 5))) int leat_config_error(const struct leat_config *config,
                                                            const char *arg, struct leat_error *err,
                                                            const char *format, ...);

/* Places an error, which was set elsewhere, at that argument. */
void leat_config_place_error(const struct leat_config *config, const char *arg,
                             struct leat_error *err);

/* Resolves a path argument against the directory of the file that names it; malloc'ed. */
char *leat_config_path(const struct leat_config *config, const char *path);

/* Parsers for stages whose values are typed by another argument. 0 or -EINVAL without a message. */
int leat_parse_int(const char *text, size_t n, int64_t *ret_value);
int leat_parse_float(const char *text, size_t n, double *ret_value);
int leat_parse_bool(const char *text, size_t n, bool *ret_value);
/* A whole number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (of 1024), or none;
 * -ERANGE: more than 63 bits. */
int leat_parse_bytes(const char *text, size_t n, int64_t *ret_value);
/* The same with s, m, h, d or w; none: seconds. */
int leat_parse_seconds(const char *text, size_t n, int64_t *ret_value);

/* The candidate that `word` is nearest to by edit distance, if it is near enough to be meant; else
 * NULL. */
const char *leat_nearest(const char *word, const char *const *candidates, size_t n_candidates);
