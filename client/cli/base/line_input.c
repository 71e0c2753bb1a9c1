#include "client/cli/base/line_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (1U << 20)
#define INPUT_NAME "stdin"

/* Moves the remaining bytes to the front and makes room for a read. */
static int make_room(struct leat_cli_lines *lines, struct leat_error *err) {
    size_t n_left = lines->end - lines->start;
    size_t capacity = n_left + READ_BYTES;
    char *data;

    if (lines->start > 0 && n_left > 0)
        memmove(lines->data, lines->data + lines->start, n_left);
    lines->start = 0;
    lines->end = n_left;
    if (capacity <= lines->capacity)
        return 0;
    capacity += n_left;
    data = realloc(lines->data, capacity + LEAT_CLI_LINE_PADDING);
    if (!data)
        return leat_error_oom(err);
    lines->data = data;
    lines->capacity = capacity;
    return 0;
}

static int read_more(struct leat_cli_lines *lines, struct leat_error *err) {
    ssize_t n;

    if (fflush(stdout) != 0)
        return leat_error_set(err, -errno, "cannot write the output: %s", strerror(errno));
    if (make_room(lines, err) < 0)
        return -ENOMEM;
    do
        n = read(lines->fd, lines->data + lines->end, lines->capacity - lines->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return leat_error_set(err, -errno, "cannot read the standard input: %s", strerror(errno));
    lines->has_ended = n == 0;
    lines->end += (size_t)n;
    memset(lines->data + lines->end, 0, LEAT_CLI_LINE_PADDING);
    return 0;
}

static int take_line(struct leat_cli_lines *lines, size_t n, size_t n_behind, const char **ret_line,
                     size_t *ret_n) {
    *ret_line = lines->data + lines->start;
    *ret_n = n;
    lines->start += n + n_behind;
    lines->n_scanned = 0;
    return 1;
}

static int fail_length(struct leat_cli_lines *lines, struct leat_error *err) {
    leat_error_set(err, -E2BIG, "the line is too long: it may have at most %u bytes",
                   LEAT_CLI_LINE_MAX);
    leat_cli_lines_locate(lines, err);
    return -E2BIG;
}

int leat_cli_lines_next(struct leat_cli_lines *lines, const char **ret_line, size_t *ret_n,
                        struct leat_error *err) {
    lines->number++;
    for (;;) {
        size_t n = lines->end - lines->start;
        const char *from = lines->data ? lines->data + lines->start : NULL;
        const char *end = n > lines->n_scanned
                              ? memchr(from + lines->n_scanned, '\n', n - lines->n_scanned)
                              : NULL;
        int r;

        if ((end ? (size_t)(end - from) : n) > LEAT_CLI_LINE_MAX)
            return fail_length(lines, err);
        if (end)
            return take_line(lines, (size_t)(end - from), 1, ret_line, ret_n);
        lines->n_scanned = n;
        if (lines->has_ended)
            return n > 0 ? take_line(lines, n, 0, ret_line, ret_n) : 0;
        r = read_more(lines, err);
        if (r < 0)
            return r;
    }
}

void leat_cli_lines_deinit(struct leat_cli_lines *lines) {
    free(lines->data);
    *lines = (struct leat_cli_lines){.fd = -1};
}

void leat_cli_lines_locate(const struct leat_cli_lines *lines, struct leat_error *err) {
    uint32_t column = err->column;

    if (err->file[0])
        return;
    err->line = err->column = 0; /* an earlier place is within the line */
    leat_error_locate(err, INPUT_NAME, (uint32_t)lines->number, column);
}

int leat_cli_lines_answer(struct leat_text *answer, struct leat_error *err) {
    size_t n_bytes;

    leat_text_add_bytes(answer, "\n", 1);
    if (answer->failed)
        return leat_error_oom(err);
    n_bytes = answer->n_bytes;
    answer->n_bytes = 0;
    if (fwrite(answer->data, 1, n_bytes, stdout) != n_bytes)
        return leat_error_set(err, -errno, "cannot write the output: %s", strerror(errno));
    return 0;
}

/* ---- requests of programs ---- */

_Static_assert(LEAT_CLI_LINE_PADDING >= LEAT_JSON_PADDING, "lines are parsed where they lie");

int leat_cli_request_parse(struct leat_json *json, const char *line, size_t n_bytes,
                           struct leat_json_node *ret_object, struct leat_error *err) {
    int r = leat_json_parse(json, line, n_bytes, n_bytes + LEAT_JSON_PADDING, ret_object, err);

    if (r == 0 && leat_json_kind(*ret_object) != LEAT_JSON_OBJECT)
        r = leat_error_set(err, -EINVAL, "the line is %s, but it must be an object",
                           leat_json_kind_name(leat_json_kind(*ret_object)));
    return r;
}

int leat_cli_request_member(struct leat_json_node object, const char *key, enum leat_json_kind kind,
                            struct leat_json_node *ret_member, struct leat_error *err) {
    enum leat_json_kind found;

    if (!leat_json_find(object, key, strlen(key), ret_member))
        return 0;
    found = leat_json_kind(*ret_member);
    if (found == LEAT_JSON_NULL)
        return 0;
    if (found == kind)
        return 1;
    leat_error_set(err, -EINVAL, "it is %s, but it must be %s", leat_json_kind_name(found),
                   leat_json_kind_name(kind));
    leat_error_prefix(err, "%s", key);
    return -EINVAL;
}

int leat_cli_request_required(struct leat_json_node object, const char *key,
                              enum leat_json_kind kind, struct leat_json_node *ret_member,
                              struct leat_error *err) {
    int r = leat_cli_request_member(object, key, kind, ret_member, err);

    if (r != 0)
        return r < 0 ? r : 0;
    return leat_error_set(err, -EINVAL, "the member \"%s\" is missing; give %s", key,
                          leat_json_kind_name(kind));
}

int leat_cli_request_bool(struct leat_json_node object, const char *key, bool *value,
                          struct leat_error *err) {
    struct leat_json_node member;
    int r = leat_cli_request_member(object, key, LEAT_JSON_BOOL, &member, err);

    if (r > 0)
        *value = leat_json_bool(member);
    return r < 0 ? r : 0;
}
