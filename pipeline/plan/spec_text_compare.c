/* spec_text_compare.c: tells in words what differs between two texts of specs. It aligns the lists
 * of stages from both ends first, and then compares arguments of stages that are the same ones, in
 * the same place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/spec_text.h"

#define TOLD_MAX  4  /* differences; the others are counted */
#define VALUE_MAX 60 /* bytes of a value that is told */
#define NO_STAGE  SIZE_MAX

/* Bytes of a long value before the first difference, and at least so many behind it. */
#define VIEW_BEFORE 16
#define VIEW_REST   20

struct piece {
    const char *bytes;
    size_t n_bytes;
};

struct line {
    char mark;
    struct piece key, value;
    size_t stage;  /* its index; NO_STAGE: of none */
    bool is_kind;  /* of the stage itself */
    bool is_found; /* in the other text */
};

struct lines {
    struct line *items;
    size_t n_items;
    struct piece *kinds; /* of the stages, in their order */
    size_t n_kinds;
};

struct comparison {
    struct lines old, new;
    size_t n_same, n_same_end; /* stages that are the same at the beginning, and at the end */
    bool is_other_source;
    struct leat_text *text;
    size_t n_told;
};

/* ---- lines ---- */

static bool is_same(struct piece a, struct piece b) {
    return a.n_bytes == b.n_bytes && memcmp(a.bytes, b.bytes, a.n_bytes) == 0;
}

static bool begins_with(struct piece piece, const char *text) {
    size_t n = strlen(text);

    return piece.n_bytes >= n && memcmp(piece.bytes, text, n) == 0;
}

/* stages[N], and what stands behind it. */
static size_t stage_of(struct piece key, bool *ret_is_kind) {
    size_t at = sizeof("stages[") - 1, index = 0;

    *ret_is_kind = false;
    if (!begins_with(key, "stages["))
        return NO_STAGE;
    for (; at < key.n_bytes && key.bytes[at] >= '0' && key.bytes[at] <= '9'; at++)
        if (index <= LEAT_SPEC_MAX_STAGES)
            index = index * 10 + (size_t)(key.bytes[at] - '0');
    if (at >= key.n_bytes || key.bytes[at] != ']')
        return NO_STAGE;
    *ret_is_kind = at + 1 == key.n_bytes;
    return index;
}

static bool read_line(const char *bytes, size_t n, struct line *ret_line) {
    const char *tab = memchr(bytes, '\t', n);

    if (!tab || tab == bytes)
        return false;
    *ret_line = (struct line){.mark = bytes[0],
                              .key = {bytes + 1, (size_t)(tab - bytes) - 1},
                              .value = {tab + 1, n - (size_t)(tab - bytes) - 1}};
    ret_line->stage = stage_of(ret_line->key, &ret_line->is_kind);
    return true;
}

static int read_lines(const char *text, struct lines *lines) {
    size_t n_lines = 1;

    for (const char *c = text; *c; c++)
        n_lines += *c == '\n';
    lines->items = calloc(n_lines, sizeof(*lines->items));
    lines->kinds = calloc(n_lines, sizeof(*lines->kinds));
    if (!lines->items || !lines->kinds)
        return -1;
    while (*text) {
        size_t n = strcspn(text, "\n");
        struct line *line = &lines->items[lines->n_items];

        if (read_line(text, n, line)) {
            lines->n_items++;
            if (line->is_kind && line->mark == '=')
                lines->kinds[lines->n_kinds++] = line->value;
        }
        text += n + (text[n] == '\n');
    }
    return 0;
}

static void free_lines(struct lines *lines) {
    free(lines->items);
    free(lines->kinds);
}

/* Both texts mostly have the same order: the search goes on where the last one ended. */
static struct line *find_line(struct lines *lines, struct piece key, size_t *hint) {
    for (size_t i = 0; i < lines->n_items; i++) {
        size_t at = (*hint + i) % lines->n_items;

        if (!is_same(lines->items[at].key, key))
            continue;
        *hint = at + 1;
        return &lines->items[at];
    }
    return NULL;
}

/* ---- telling ---- */

/* Begins one more difference; false: it is only counted. */
static bool begin_difference(struct comparison *comparison) {
    if (comparison->n_told++ >= TOLD_MAX)
        return false;
    if (comparison->n_told > 1)
        leat_text_add(comparison->text, "; ");
    return true;
}

/* The first byte of the character that has the byte `at`. */
static size_t character_at(struct piece piece, size_t at) {
    while (at > 0 && at < piece.n_bytes && ((unsigned char)piece.bytes[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* Adds as much of a value as is told, from the byte `from` on. */
static void add_part(struct leat_text *text, struct piece piece, size_t from) {
    size_t first = character_at(piece, from), end = piece.n_bytes;

    if (end - first > VALUE_MAX)
        end = character_at(piece, first + VALUE_MAX);
    if (first > 0)
        leat_text_add(text, "..");
    leat_text_add_bytes(text, piece.bytes + first, end - first);
    if (end < piece.n_bytes)
        leat_text_add(text, "..");
}

static void add_piece(struct leat_text *text, struct piece piece) {
    add_part(text, piece, 0);
}

/* The place from which two values are told so that the difference shows: their start, or a little
 * before the first difference. */
static size_t find_view(struct piece a, struct piece b) {
    size_t n = a.n_bytes < b.n_bytes ? a.n_bytes : b.n_bytes, at = 0;

    while (at < n && a.bytes[at] == b.bytes[at])
        at++;
    return at + VIEW_REST <= VALUE_MAX ? 0 : at - VIEW_BEFORE;
}

/* Variables of programs (the stage exec) may be secrets, and trainers are told of what differs. */
static bool is_secret(struct piece key) {
    static const char suffix[] = "exec.environment";
    size_t n = sizeof(suffix) - 1;

    return key.n_bytes >= n && memcmp(key.bytes + key.n_bytes - n, suffix, n) == 0;
}

static void tell_value(struct comparison *comparison, struct piece key, const struct piece *old,
                       const struct piece *new) {
    struct leat_text *text = comparison->text;
    size_t from = old && new ? find_view(*old, *new) : 0;

    if (!begin_difference(comparison))
        return;
    add_piece(text, key);
    if (is_secret(key)) {
        leat_text_add(text, " differs");
        return;
    }
    leat_text_add(text, " was ");
    if (old)
        add_part(text, *old, from);
    else
        leat_text_add(text, "not given");
    leat_text_add(text, ", is ");
    if (new)
        add_part(text, *new, from);
    else
        leat_text_add(text, "not given");
}

/* ---- files ---- */

static struct piece contents_owner(struct piece key) {
    static const char suffix[] = " " LEAT_SPEC_TEXT_CONTENTS;
    size_t n = sizeof(suffix) - 1;

    if (key.n_bytes <= n || memcmp(key.bytes + key.n_bytes - n, suffix, n) != 0)
        return (struct piece){NULL, 0};
    return (struct piece){key.bytes, key.n_bytes - n};
}

/* The name of a file of that owner; n_bytes 0: the line is of none. */
static struct piece file_of(const struct line *line, struct piece owner) {
    static const char infix[] = " " LEAT_SPEC_TEXT_FILE " ";
    size_t n = owner.n_bytes + sizeof(infix) - 1;

    if (line->mark != '~' || line->key.n_bytes <= n ||
        memcmp(line->key.bytes, owner.bytes, owner.n_bytes) != 0 ||
        memcmp(line->key.bytes + owner.n_bytes, infix, sizeof(infix) - 1) != 0)
        return (struct piece){NULL, 0};
    return (struct piece){line->key.bytes + n, line->key.n_bytes - n};
}

/* Adds the names of those files of `lines` that are not the same in `others`. */
static void add_files(struct leat_text *text, struct lines *lines, struct lines *others,
                      struct piece owner, bool only_missing, size_t *n_named) {
    size_t hint = 0;

    for (size_t i = 0; i < lines->n_items; i++) {
        struct piece name = file_of(&lines->items[i], owner);
        const struct line *other;

        if (name.n_bytes == 0)
            continue;
        other = find_line(others, lines->items[i].key, &hint);
        if (other && (only_missing || is_same(other->value, lines->items[i].value)))
            continue;
        leat_text_add(text, "%s", (*n_named)++ ? ", " : " (");
        add_piece(text, name);
        leat_text_add(text, "%s", other ? "" : only_missing ? " is new" : " is gone");
    }
}

static void tell_contents(struct comparison *comparison, struct piece owner) {
    struct leat_text *text = comparison->text;
    size_t n_named = 0;

    if (!begin_difference(comparison))
        return;
    leat_text_add(text, "the contents of the files of ");
    add_piece(text, owner);
    leat_text_add(text, " changed");
    add_files(text, &comparison->old, &comparison->new, owner, false, &n_named);
    add_files(text, &comparison->new, &comparison->old, owner, true, &n_named);
    leat_text_add(text, "%s", n_named ? ")" : "");
}

/* ---- comparing ---- */

static void align_kinds(struct comparison *comparison) {
    const struct lines *old = &comparison->old, *new = &comparison->new;
    size_t n = old->n_kinds < new->n_kinds ? old->n_kinds : new->n_kinds, at = 0, end = 0;

    while (at < n && is_same(old->kinds[at], new->kinds[at]))
        at++;
    while (end < n - at &&
           is_same(old->kinds[old->n_kinds - 1 - end], new->kinds[new->n_kinds - 1 - end]))
        end++;
    comparison->n_same = at;
    comparison->n_same_end = end;
}

static void tell_stage(struct comparison *comparison, size_t index, struct piece kind,
                       const char *what) {
    if (!begin_difference(comparison))
        return;
    leat_text_add(comparison->text, "stages[%zu].", index);
    add_piece(comparison->text, kind);
    leat_text_add(comparison->text, " %s", what);
}

static void compare_kinds(struct comparison *comparison) {
    const struct lines *old = &comparison->old, *new = &comparison->new;
    size_t old_end = old->n_kinds - comparison->n_same_end;
    size_t new_end = new->n_kinds - comparison->n_same_end, at = comparison->n_same;
    char place[32];

    for (; at < old_end && at < new_end; at++) {
        int n = snprintf(place, sizeof(place), "stages[%zu]", at);

        tell_value(comparison, (struct piece){place, (size_t)n}, &old->kinds[at], &new->kinds[at]);
    }
    for (size_t i = at; i < old_end; i++)
        tell_stage(comparison, i, old->kinds[i], "was removed");
    for (size_t i = at; i < new_end; i++)
        tell_stage(comparison, i, new->kinds[i], "was added");
}

/* True if the line is of a stage or source that both texts have. */
static bool is_comparable(const struct comparison *comparison, const struct line *line) {
    if (line->mark == '~' || line->is_kind)
        return false;
    if (line->stage != NO_STAGE)
        return line->stage < comparison->n_same;
    return !comparison->is_other_source || !begins_with(line->key, "source.");
}

static void compare_line(struct comparison *comparison, const struct line *old, struct line *new) {
    struct piece owner = contents_owner(old->key);

    if (new &&new->mark == '~')
        return;
    if (new)
        new->is_found = true;
    if (new &&is_same(old->value, new->value))
        return;
    if (owner.n_bytes > 0)
        tell_contents(comparison, owner);
    else if (new || old->mark == '=')
        tell_value(comparison, old->key, &old->value, new ? &new->value : NULL);
}

static void compare_lines(struct comparison *comparison) {
    struct piece source = {"source", sizeof("source") - 1};
    const struct line *old_source, *new_source;
    size_t hint = 0;

    old_source = find_line(&comparison->old, source, &hint);
    hint = 0;
    new_source = find_line(&comparison->new, source, &hint);
    comparison->is_other_source =
        !old_source || !new_source || !is_same(old_source->value, new_source->value);
    for (size_t i = 0; i < comparison->old.n_items; i++) {
        const struct line *old = &comparison->old.items[i];

        if (is_comparable(comparison, old))
            compare_line(comparison, old, find_line(&comparison->new, old->key, &hint));
    }
    for (size_t i = 0; i < comparison->new.n_items; i++) {
        const struct line *new = &comparison->new.items[i];

        if (new->mark == '=' && !new->is_found && is_comparable(comparison, new))
            tell_value(comparison, new->key, NULL, &new->value);
    }
}

void leat_spec_text_compare(const char *old, const char *new, struct leat_text *text) {
    struct comparison comparison = {.text = text};

    if (read_lines(old, &comparison.old) < 0 || read_lines(new, &comparison.new) < 0) {
        text->failed = 1;
    } else {
        align_kinds(&comparison);
        compare_lines(&comparison);
        compare_kinds(&comparison);
        if (comparison.n_told > TOLD_MAX)
            leat_text_add(text, "; and %zu more", comparison.n_told - TOLD_MAX);
    }
    free_lines(&comparison.old);
    free_lines(&comparison.new);
}
