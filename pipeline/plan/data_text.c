/* data_text.c: see data_text.h.
 *
 *     verify TAB sample
 *     files TAB 2
 *     file TAB 1234 TAB <digest> TAB <hashes of its ranges, or nothing> TAB "train/a.csv"
 */
#include "pipeline/plan/data_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX   3 /* files; the others are counted */
#define NAME_BYTES 120
#define RANGE_HEX  16
#define DIGEST_HEX (2 * LEAT_DATA_DIGEST_BYTES)
#define N_FIELDS   5

#define BRIEF_DIGEST_BYTES 8

/* ---- writing ---- */

static void add_hash(struct leat_text *text, const struct leat_data *data, size_t file) {
    for (size_t i = 0; i < LEAT_DATA_DIGEST_BYTES; i++)
        leat_text_add(text, "%02x", data->digests[file][i]);
    leat_text_add(text, "\t");
    for (size_t i = 0; file < data->n_detailed && i < LEAT_DATA_RANGES; i++)
        leat_text_add(text, "%016" PRIx64, data->ranges[file][i]);
}

char *leat_data_text(const struct leat_files *files, const struct leat_data *data) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "verify\t%s\nfiles\t%zu\n", data->is_full ? "full" : "sample",
                  data->n_files);
    for (size_t i = 0; i < data->n_files && text.n_bytes < LEAT_DATA_TEXT_MAX / 2; i++) {
        leat_text_add(&text, "file\t%" PRIu64 "\t", data->states[i].n_bytes);
        add_hash(&text, data, i);
        leat_text_add(&text, "\t");
        leat_text_add_json(&text, files->names[i], strlen(files->names[i]));
        leat_text_add(&text, "\n");
    }
    if (!text.failed)
        return text.data;
    free(text.data);
    return NULL;
}

char *leat_data_text_brief(const struct leat_files *files, const struct leat_data *data,
                           size_t n_max) {
    struct leat_text text = {.data = NULL};
    size_t n_whole = 0;

    for (size_t i = 0; i < data->n_files && text.n_bytes <= n_max; i++) {
        n_whole = text.n_bytes;
        leat_text_add(&text, "%" PRIu64 "\t", data->states[i].n_bytes);
        for (size_t k = 0; k < BRIEF_DIGEST_BYTES; k++)
            leat_text_add(&text, "%02x", data->digests[i][k]);
        leat_text_add(&text, "\t");
        leat_text_add_json(&text, files->names[i], strlen(files->names[i]));
        leat_text_add(&text, "\n");
    }
    if (text.failed || !text.data) {
        free(text.data);
        return NULL;
    }
    if (text.n_bytes > n_max)
        text.data[n_whole] = '\0';
    return text.data;
}

/* ---- reading ---- */

struct piece {
    const char *bytes;
    size_t n_bytes;
};

struct file {
    uint64_t n_bytes;
    struct piece digest, ranges, name;
};

struct described {
    bool is_full;
    uint64_t n_files; /* of which are told: */
    size_t n_items;
    struct file *items;
    const struct file **sorted; /* by digest */
};

struct comparison {
    struct described old, new;
    struct leat_text *text;
    size_t n_told;
};

static uint64_t number_of(struct piece piece) {
    uint64_t number = 0;

    for (size_t i = 0; i < piece.n_bytes && piece.bytes[i] >= '0' && piece.bytes[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(piece.bytes[i] - '0');
    return number;
}

/* Splits the line at tabs; the rest is in the last field. */
static size_t split_line(const char *line, size_t n, struct piece fields[N_FIELDS]) {
    size_t n_fields = 0;

    for (;;) {
        const char *tab = n_fields + 1 < N_FIELDS ? memchr(line, '\t', n) : NULL;

        fields[n_fields++] = (struct piece){line, tab ? (size_t)(tab - line) : n};
        if (!tab)
            return n_fields;
        n -= (size_t)(tab - line) + 1;
        line = tab + 1;
    }
}

static bool is_text(struct piece piece, const char *text) {
    return piece.n_bytes == strlen(text) && memcmp(piece.bytes, text, piece.n_bytes) == 0;
}

static bool is_same(struct piece a, struct piece b) {
    return a.n_bytes == b.n_bytes && memcmp(a.bytes, b.bytes, a.n_bytes) == 0;
}

static void read_line(const char *line, size_t n, struct described *described) {
    struct piece fields[N_FIELDS];
    size_t n_fields = split_line(line, n, fields);

    if (n_fields == 2 && is_text(fields[0], "verify"))
        described->is_full = is_text(fields[1], "full");
    else if (n_fields == 2 && is_text(fields[0], "files"))
        described->n_files = number_of(fields[1]);
    else if (n_fields == N_FIELDS && is_text(fields[0], "file") && fields[2].n_bytes == DIGEST_HEX)
        described->items[described->n_items++] = (struct file){.n_bytes = number_of(fields[1]),
                                                               .digest = fields[2],
                                                               .ranges = fields[3],
                                                               .name = fields[4]};
}

static int by_digest(const void *a, const void *b) {
    const struct file *first = *(const struct file *const *)a;
    const struct file *second = *(const struct file *const *)b;
    int r = memcmp(first->digest.bytes, second->digest.bytes, DIGEST_HEX);

    return r ? r : (first->n_bytes > second->n_bytes) - (first->n_bytes < second->n_bytes);
}

static int read_text(const char *text, struct described *described) {
    size_t n_lines = 1;

    for (const char *c = text; *c; c++)
        n_lines += *c == '\n';
    described->items = calloc(n_lines, sizeof(*described->items));
    described->sorted = calloc(n_lines, sizeof(*described->sorted));
    if (!described->items || !described->sorted)
        return -1;
    while (*text) {
        size_t n = strcspn(text, "\n");

        read_line(text, n, described);
        text += n + (text[n] == '\n');
    }
    for (size_t i = 0; i < described->n_items; i++)
        described->sorted[i] = &described->items[i];
    qsort(described->sorted, described->n_items, sizeof(*described->sorted), by_digest);
    return 0;
}

static bool has_file(const struct described *described, const struct file *file) {
    return bsearch(&file, described->sorted, described->n_items, sizeof(*described->sorted),
                   by_digest) != NULL;
}

/* ---- telling ---- */

static bool begin_difference(struct comparison *comparison) {
    if (comparison->n_told++ >= TOLD_MAX)
        return false;
    if (comparison->n_told > 1)
        leat_text_add(comparison->text, "; ");
    return true;
}

/* A JSON string without its quotes. */
static void add_name(struct leat_text *text, struct piece name) {
    if (name.n_bytes >= 2 && name.bytes[0] == '"')
        name = (struct piece){name.bytes + 1, name.n_bytes - 2};
    if (name.n_bytes > NAME_BYTES) { /* its end tells more */
        leat_text_add(text, "..");
        name = (struct piece){name.bytes + name.n_bytes - NAME_BYTES, NAME_BYTES};
        while (name.n_bytes > 0 && ((unsigned char)name.bytes[0] & 0xc0) == 0x80)
            name = (struct piece){name.bytes + 1, name.n_bytes - 1};
    }
    leat_text_add_bytes(text, name.bytes, name.n_bytes);
}

/* 1234567 as 1,234,567 */
static void add_number(struct leat_text *text, uint64_t number) {
    uint64_t thousands = 1;

    while (number / thousands >= 1000)
        thousands *= 1000;
    leat_text_add(text, "%" PRIu64, number / thousands);
    for (; thousands > 1; thousands /= 1000)
        leat_text_add(text, ",%03" PRIu64, number % thousands / (thousands / 1000));
}

static void add_size(struct leat_text *text, uint64_t n_bytes) {
    if (n_bytes == LEAT_DATA_UNREADABLE) {
        leat_text_add(text, "unreadable");
        return;
    }
    add_number(text, n_bytes);
    leat_text_add(text, n_bytes == 1 ? " byte" : " bytes");
}

static void add_sizes(struct leat_text *text, uint64_t old, uint64_t new) {
    leat_text_add(text, old == LEAT_DATA_UNREADABLE ? " was " : " had ");
    add_size(text, old);
    leat_text_add(text, new == LEAT_DATA_UNREADABLE ? ", is " : ", has ");
    add_size(text, new);
}

/* The bytes between which the file differs; none: nothing is known of its ranges. */
static struct leat_data_range find_change(const struct comparison *comparison,
                                          const struct file *old, const struct file *new) {
    uint64_t ranges[2][LEAT_DATA_RANGES];
    const struct piece pieces[2] = {old->ranges, new->ranges};

    for (size_t i = 0; i < 2; i++) {
        if (pieces[i].n_bytes != (size_t)LEAT_DATA_RANGES * RANGE_HEX)
            return (struct leat_data_range){0, 0};
        for (size_t k = 0; k < LEAT_DATA_RANGES; k++) {
            char hex[RANGE_HEX + 1] = "";

            memcpy(hex, pieces[i].bytes + k * RANGE_HEX, RANGE_HEX);
            ranges[i][k] = strtoull(hex, NULL, 16);
        }
    }
    return leat_data_difference(ranges[0], ranges[1], new->n_bytes, comparison->new.is_full);
}

static void tell_change(struct comparison *comparison, const struct file *old,
                        const struct file *new) {
    struct leat_text *text = comparison->text;
    struct leat_data_range change;

    if (!begin_difference(comparison))
        return;
    if (old->n_bytes != new->n_bytes) {
        add_name(text, new->name);
        add_sizes(text, old->n_bytes, new->n_bytes);
        return;
    }
    leat_text_add(text, "the contents of ");
    add_name(text, new->name);
    leat_text_add(text, " (");
    add_number(text, new->n_bytes);
    leat_text_add(text, " bytes) differ");
    change = find_change(comparison, old, new);
    if (change.n_bytes == 0)
        return;
    leat_text_add(text, " between bytes ");
    add_number(text, change.offset);
    leat_text_add(text, " and ");
    add_number(text, change.offset + change.n_bytes);
}

/* ---- comparing ---- */

static void tell_missing(struct comparison *comparison, const struct described *from,
                         const struct described *in, const char *what) {
    for (size_t i = 0; i < from->n_items; i++) {
        if (has_file(in, &from->items[i]) || !begin_difference(comparison))
            continue;
        add_name(comparison->text, from->items[i].name);
        leat_text_add(comparison->text, " (");
        add_size(comparison->text, from->items[i].n_bytes);
        leat_text_add(comparison->text, ") %s", what);
    }
}

static void compare_numbers(struct comparison *comparison) {
    const struct described *old = &comparison->old, *new = &comparison->new;

    (void)begin_difference(comparison);
    leat_text_add(comparison->text, "there %s ", old->n_files == 1 ? "was" : "were");
    add_number(comparison->text, old->n_files);
    leat_text_add(comparison->text, old->n_files == 1 ? " file, there " : " files, there ");
    leat_text_add(comparison->text, new->n_files == 1 ? "is " : "are ");
    add_number(comparison->text, new->n_files);
    if (old->n_items != old->n_files || new->n_items != new->n_files)
        return;
    tell_missing(comparison, old, new, "is gone");
    tell_missing(comparison, new, old, "is new");
}

static void compare_order(struct comparison *comparison) {
    const struct described *old = &comparison->old, *new = &comparison->new;
    size_t i = 0;

    while (i < new->n_items && is_same(old->items[i].digest, new->items[i].digest))
        i++;
    if (i == new->n_items)
        return;
    (void)begin_difference(comparison);
    leat_text_add(comparison->text, "the order of the files has changed: ");
    add_name(comparison->text, new->items[i].name);
    leat_text_add(comparison->text, " is now in the place of ");
    add_name(comparison->text, old->items[i].name);
}

static bool is_reordered(const struct comparison *comparison) {
    const struct described *old = &comparison->old, *new = &comparison->new;

    for (size_t i = 0; i < new->n_items; i++)
        if (by_digest(&old->sorted[i], &new->sorted[i]) != 0)
            return false;
    return true;
}

static void compare_files(struct comparison *comparison) {
    const struct described *old = &comparison->old, *new = &comparison->new;
    size_t n = old->n_items < new->n_items ? old->n_items : new->n_items;

    if (old->n_items == new->n_items && is_reordered(comparison)) {
        compare_order(comparison);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (!is_same(old->items[i].digest, new->items[i].digest) ||
            old->items[i].n_bytes != new->items[i].n_bytes)
            tell_change(comparison, &old->items[i], &new->items[i]);
}

void leat_data_text_compare(const char *old, const char *new, struct leat_text *text) {
    struct comparison comparison = {.text = text};

    if (read_text(old, &comparison.old) < 0 || read_text(new, &comparison.new) < 0)
        text->failed = 1;
    else if (comparison.old.is_full != comparison.new.is_full)
        leat_text_add(text, "`verify` was %s and is %s now, so leat cannot compare the data",
                      comparison.old.is_full ? "full" : "sample",
                      comparison.new.is_full ? "full" : "sample");
    else if (comparison.old.n_files != comparison.new.n_files)
        compare_numbers(&comparison);
    else
        compare_files(&comparison);
    if (comparison.n_told > TOLD_MAX)
        leat_text_add(text, "; and %zu more", comparison.n_told - TOLD_MAX);
    free(comparison.old.items);
    free(comparison.old.sorted);
    free(comparison.new.items);
    free(comparison.new.sorted);
}
