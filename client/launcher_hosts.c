/* launcher_hosts.c: see launcher_hosts.h. Items are counted, not parsed: brackets must match,
 * strings must end, and a comma must stand between two items. */
#include "client/launcher_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/file.h"

#define MAX_DEPTH 32
#define MAX_BYTES (1 << 20)

struct counter {
    const char *at, *end;
    char open[MAX_DEPTH]; /* brackets */
    size_t depth;
    bool has_value; /* since the last comma or the opening bracket */
    uint32_t n;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool skip_string(struct counter *counter) {
    while (counter->at < counter->end && *counter->at != '"')
        counter->at += *counter->at == '\\' ? 2 : 1;
    if (counter->at >= counter->end)
        return false;
    counter->at++;
    return true;
}

static bool take_open(struct counter *counter, char bracket) {
    if (counter->depth == MAX_DEPTH || (counter->depth == 0 && bracket != '['))
        return false;
    counter->open[counter->depth++] = bracket;
    counter->has_value = counter->depth > 1;
    return true;
}

static bool take_close(struct counter *counter, char bracket) {
    if (counter->depth == 0 || counter->open[counter->depth - 1] != (bracket == ']' ? '[' : '{'))
        return false;
    counter->depth--;
    if (counter->depth > 0)
        return true;
    counter->n += counter->has_value;
    return counter->has_value || counter->n == 0; /* no comma at the end */
}

static bool take_comma(struct counter *counter) {
    if (counter->depth > 1)
        return true;
    if (!counter->has_value)
        return false;
    counter->has_value = false;
    counter->n++;
    return true;
}

static bool take_character(struct counter *counter, char c) {
    switch (is_blank(c) ? ' ' : c) {
    case ' ':
        return true;
    case '[':
    case '{':
        return take_open(counter, c);
    case ']':
    case '}':
        return take_close(counter, c);
    case ',':
        return take_comma(counter);
    case '"':
        counter->has_value = true;
        return skip_string(counter);
    default:
        counter->has_value = true;
        return true;
    }
}

int leat_launcher_count_hosts(const char *text, size_t n_bytes, uint32_t *ret_n_hosts) {
    struct counter counter = {.at = text, .end = text + n_bytes};
    bool has_begun = false;

    *ret_n_hosts = 0;
    while (counter.at < counter.end) {
        char c = *counter.at++;
        bool is_outside = counter.depth == 0;

        if (!take_character(&counter, c) || (is_outside && counter.depth == 0 && !is_blank(c)) ||
            (is_outside && counter.depth > 0 && has_begun))
            return -EINVAL;
        has_begun = has_begun || counter.depth > 0;
    }
    if (!has_begun || counter.depth > 0 || counter.n == 0)
        return -EINVAL;
    *ret_n_hosts = counter.n;
    return 0;
}

static int read_file(int fd, uint32_t *ret_n_hosts) {
    struct leat_file_state state;
    char *text = malloc(MAX_BYTES);
    ssize_t n_bytes = -EINVAL;
    int r;

    if (!text)
        return -ENOMEM;
    if (leat_file_stat(fd, &state) == 0)
        n_bytes = leat_file_read(fd, text, MAX_BYTES, 0);
    if (n_bytes < 0)
        r = (int)n_bytes;
    else
        r = n_bytes < MAX_BYTES ? leat_launcher_count_hosts(text, (size_t)n_bytes, ret_n_hosts)
                                : -EFBIG;
    free(text);
    return r;
}

int leat_launcher_read_hosts(const char *path, uint32_t *ret_n_hosts, struct leat_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r = fd < 0 ? -errno : read_file(fd, ret_n_hosts);

    if (fd >= 0)
        (void)close(fd);
    if (r == -EINVAL)
        return leat_error_set(
            err, r, "the host file %s must be a JSON list with one item for each rank", path);
    return r < 0 ? leat_error_set(err, r, "the host file %s: %s", path, strerror(-r)) : 0;
}
