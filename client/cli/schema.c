/* schema.c: see schema.h. The file is our own: one message, field or comment a line, or a message
 * with all its fields in one line. */
#include "client/cli/schema.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *text; /* from its first byte that is no blank */
    size_t n_bytes;
    size_t column;
};

/* The next one, behind *at; false at the end. */
static bool next_line(const char **at, struct line *line) {
    size_t n = strcspn(*at, "\n"), n_blanks = strspn(*at, " ");

    if (!**at)
        return false;
    *line = (struct line){.text = *at + n_blanks, .n_bytes = n - n_blanks, .column = n_blanks};
    *at += n + ((*at)[n] == '\n');
    return true;
}

static bool is_comment(const struct line *line) {
    return line->n_bytes >= 2 && memcmp(line->text, "//", 2) == 0;
}

static bool begins(const struct line *line, const char *word) {
    size_t n = strlen(word);

    return line->n_bytes >= n && memcmp(line->text, word, n) == 0;
}

static bool is_message(const struct line *line, const char *name) {
    size_t n = strlen(name), n_head = strlen("message ");

    return begins(line, "message ") && line->n_bytes > n_head + n + 1 &&
           memcmp(line->text + n_head, name, n) == 0 && line->text[n_head + n] == ' ';
}

/* " NAME = " in it. */
static bool has_field(const struct line *line, const char *name) {
    size_t n = strlen(name);

    for (size_t i = 1; i + n + 3 <= line->n_bytes; i++)
        if (line->text[i - 1] == ' ' && memcmp(line->text + i, name, n) == 0 &&
            memcmp(line->text + i + n, " = ", 3) == 0)
            return true;
    return false;
}

static void add_comment(struct leat_text *text, const char *comment, size_t n_bytes) {
    size_t n_skipped = strspn(comment, "/ ");

    if (n_skipped >= n_bytes)
        return;
    leat_text_add(text, text->n_bytes ? " " : "");
    leat_text_add_bytes(text, comment + n_skipped, n_bytes - n_skipped);
}

/* Where the comment behind a field begins in its line; n_bytes: there is none. */
static size_t find_comment(const struct line *line) {
    size_t i = 0;

    while (i + 1 < line->n_bytes && memcmp(line->text + i, "//", 2) != 0)
        i++;
    return i + 1 < line->n_bytes ? i : line->n_bytes;
}

static void add_behind(struct leat_text *text, const struct line *field, const char *rest) {
    size_t start = find_comment(field);
    struct line line;

    if (start == field->n_bytes)
        return;
    add_comment(text, field->text + start, field->n_bytes - start);
    while (next_line(&rest, &line) && is_comment(&line) && line.column > field->column)
        add_comment(text, line.text, line.n_bytes);
}

/* The comment lines from `first` up to `end`, if they are right above. */
static void add_above(struct leat_text *text, const char *first, const char *end) {
    struct line line;

    while (first && first < end && next_line(&first, &line) && is_comment(&line))
        add_comment(text, line.text, line.n_bytes);
}

void leat_cli_schema_comment(struct leat_text *text, const char *message, const char *field) {
    const char *at = leat_schema_text, *above = NULL, *start = at;
    struct leat_text found = {.data = NULL};
    bool is_inside = false, was_comment = false;
    struct line line;

    for (; next_line(&at, &line); start = at) {
        bool is_meant = is_message(&line, message);

        if (is_comment(&line)) {
            above = was_comment ? above : start;
            was_comment = true;
            continue;
        }
        if (begins(&line, "message "))
            is_inside = is_meant;
        if (is_meant && !field) {
            add_above(&found, above, start);
            break;
        }
        if (is_inside && field && has_field(&line, field)) {
            if (was_comment)
                add_above(&found, above, start);
            add_behind(&found, &line, at);
            break;
        }
        was_comment = false;
        above = NULL;
    }
    if (found.data)
        leat_text_add_bytes(text, found.data, found.n_bytes);
    free(found.data);
}
