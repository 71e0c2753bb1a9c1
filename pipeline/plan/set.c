#include "pipeline/plan/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/io/object.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/elsewhere.h"
#include "proto/base/json_writer.h"

#define VERSION 2

struct parsing {
    struct leat_set *set;
    struct leat_error *err;
};

struct leat_set *leat_set_free(struct leat_set *set) {
    if (!set)
        return NULL;
    for (size_t i = 0; i < set->n_heads; i++)
        free(set->heads[i].bytes);
    for (size_t i = 0; i < set->n_files; i++)
        free(set->files[i].name);
    for (size_t i = 0; i < set->n_shards; i++)
        free(set->shards[i].checksums);
    free(set->heads);
    free(set->files);
    free(set->shards);
    free(set->folder);
    free(set);
    return NULL;
}

/* ---- reading ---- */

static int fail(const struct parsing *parsing, const char *key, const char *what) {
    return leat_error_set(parsing->err, -EBADMSG, "%s/" LEAT_SET_NAME ": \"%s\" %s",
                          parsing->set->folder, key, what);
}

static int find(const struct parsing *parsing, struct leat_json_node object, const char *key,
                enum leat_json_kind kind, struct leat_json_node *ret_node) {
    if (leat_json_kind(object) == LEAT_JSON_OBJECT &&
        leat_json_find(object, key, strlen(key), ret_node) && leat_json_kind(*ret_node) == kind)
        return 0;
    return fail(parsing, key, "is missing or has another type");
}

static int get_uint(const struct parsing *parsing, struct leat_json_node object, const char *key,
                    uint64_t *ret_value) {
    struct leat_json_node node;
    int r = find(parsing, object, key, LEAT_JSON_INT, &node);

    if (r == 0 && leat_json_int(node) < 0)
        return fail(parsing, key, "is negative");
    if (r == 0)
        *ret_value = (uint64_t)leat_json_int(node);
    return r;
}

static uint8_t digit_of(uint8_t c) {
    return (uint8_t)((c & 15) + (c >> 6) * 9);
}

static uint8_t is_no_digit(uint8_t c) {
    return (uint8_t)(c - '0') > 9 && (uint8_t)(c - 'a') > 5;
}

/* Sets have megabytes of digits: the loop has no branches, so that it runs on vectors. */
static int decode_hex(const char *text, size_t n_bytes, uint8_t *restrict bytes) {
    const uint8_t *digits = (const uint8_t *)text;
    uint8_t is_wrong = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        uint8_t high = digits[2 * i], low = digits[2 * i + 1];

        is_wrong |= is_no_digit(high) | is_no_digit(low);
        bytes[i] = (uint8_t)(digit_of(high) << 4 | digit_of(low));
    }
    return is_wrong ? -EINVAL : 0;
}

/* A text of 2 * n_bytes digits. */
static int get_digest(const struct parsing *parsing, struct leat_json_node object, const char *key,
                      size_t n_bytes, uint8_t *ret_bytes) {
    struct leat_json_node node;
    const char *text;
    size_t n;
    int r = find(parsing, object, key, LEAT_JSON_STRING, &node);

    if (r < 0)
        return r;
    text = leat_json_string(node, &n);
    if (n != 2 * n_bytes || decode_hex(text, n_bytes, ret_bytes) < 0)
        return fail(parsing, key, "has the wrong number of digits for a digest");
    return 0;
}

static int get_bytes(const struct parsing *parsing, struct leat_json_node object, const char *key,
                     uint8_t **ret_bytes, size_t *ret_n) {
    struct leat_json_node node;
    const char *text;
    size_t n;
    int r = find(parsing, object, key, LEAT_JSON_STRING, &node);

    if (r < 0)
        return r;
    text = leat_json_string(node, &n);
    *ret_bytes = malloc(n / 2 + 1);
    if (!*ret_bytes)
        return leat_error_oom(parsing->err);
    *ret_n = n / 2;
    if (n % 2 != 0 || decode_hex(text, n / 2, *ret_bytes) < 0)
        return fail(parsing, key, "has digits that are not hexadecimal");
    return 0;
}

static int read_head(const struct parsing *parsing, struct leat_json_node node, size_t i) {
    struct leat_set_head *head = &parsing->set->heads[i];
    uint64_t n_files = 0;
    int r = get_uint(parsing, node, "n_files", &n_files);

    if (r == 0)
        r = get_bytes(parsing, node, "head", &head->bytes, &head->n_bytes);
    if (r == 0)
        r = get_uint(parsing, node, "record_bytes", &head->record_bytes);
    if (r < 0)
        return r;
    if (n_files == 0 || n_files > LEAT_FILES_MAX || head->n_bytes > LEAT_SET_HEAD_MAX ||
        head->record_bytes > LEAT_SET_HEAD_MAX)
        return fail(parsing, "sources", "is out of range");
    head->n_files = (size_t)n_files;
    return 0;
}

static int read_file(const struct parsing *parsing, struct leat_json_node node, size_t i) {
    struct leat_set_file *file = &parsing->set->files[i];
    struct leat_json_node name;
    const char *text;
    size_t n;
    int r = find(parsing, node, "name", LEAT_JSON_STRING, &name);

    if (r == 0)
        r = get_uint(parsing, node, "n_bytes", &file->n_bytes);
    if (r == 0)
        r = get_digest(parsing, node, "digest", sizeof(file->digest), file->digest);
    if (r < 0)
        return r;
    text = leat_json_string(name, &n);
    if (n == 0 || memchr(text, '\0', n))
        return fail(parsing, "name", "is not the name of a file");
    file->name = strndup(text, n);
    return file->name ? 0 : leat_error_oom(parsing->err);
}

static int read_shard(const struct parsing *parsing, struct leat_json_node node, size_t i) {
    struct leat_set_shard *shard = &parsing->set->shards[i];
    size_t n_bytes = 0;
    int r = get_uint(parsing, node, "n_records", &shard->n_records);

    if (r == 0)
        r = get_uint(parsing, node, "n_rows", &shard->n_rows);
    if (r == 0)
        r = get_bytes(parsing, node, "blocks", &shard->checksums, &n_bytes);
    if (r == 0 && n_bytes % LEAT_SET_CHECKSUM_BYTES != 0)
        r = fail(parsing, "blocks", "has a truncated checksum");
    shard->n_blocks = n_bytes / LEAT_SET_CHECKSUM_BYTES;
    return r;
}

/* Reads an array of at least n_min items; *items is zeroed and counted before an item is read. */
static int read_array(const struct parsing *parsing, struct leat_json_node root, const char *key,
                      size_t n_min, size_t n_max, size_t size, void **items, size_t *n_items,
                      int (*read)(const struct parsing *, struct leat_json_node, size_t)) {
    struct leat_json_iterator iterator;
    struct leat_json_node array, item;
    size_t n;
    int r = find(parsing, root, key, LEAT_JSON_ARRAY, &array);

    if (r < 0)
        return r;
    n = leat_json_n_items(array);
    if (n < n_min || n > n_max)
        return fail(parsing, key, "has too few or too many items");
    *items = calloc(n, size);
    if (!*items)
        return leat_error_oom(parsing->err);
    *n_items = n;
    leat_json_iterate(array, &iterator);
    for (size_t i = 0; r == 0 && i < n && leat_json_next(&iterator, &item); i++)
        r = read(parsing, item, i);
    return r;
}

static int check_counts(const struct parsing *parsing) {
    const struct leat_set *set = parsing->set;
    uint64_t n_records = 0, n_rows = 0;
    size_t n_files = 0;

    for (size_t i = 0; i < set->n_heads; i++)
        n_files += set->heads[i].n_files;
    if (n_files != set->n_files)
        return fail(parsing, "files", "must have one entry for each file of the sources");
    for (size_t i = 0; i < set->n_shards; i++) {
        const struct leat_set_shard *shard = &set->shards[i];

        if (__builtin_add_overflow(n_records, shard->n_records, &n_records) ||
            __builtin_add_overflow(n_rows, shard->n_rows, &n_rows) ||
            shard->n_rows > shard->n_records)
            return fail(parsing, "shards", "has impossible counts");
    }
    if (n_records != set->n_records || n_rows != set->n_rows)
        return fail(parsing, "n_records", "is not the sum of the counts of the shards");
    return 0;
}

static int read_root(const struct parsing *parsing, struct leat_json_node root) {
    struct leat_set *set = parsing->set;
    struct leat_json_node verify;
    uint64_t version = 0;
    size_t n;
    int r = get_uint(parsing, root, "leat_set", &version);

    if (r == 0 && version != VERSION)
        return fail(parsing, "leat_set", "must be 2 in this version of leat: seal the set again");
    if (r == 0)
        r = get_digest(parsing, root, "spec", sizeof(set->spec), set->spec);
    if (r == 0)
        r = get_digest(parsing, root, "data", sizeof(set->data), set->data);
    if (r == 0)
        r = find(parsing, root, "verify", LEAT_JSON_STRING, &verify);
    if (r == 0)
        set->is_full = strcmp(leat_json_string(verify, &n), "full") == 0;
    if (r == 0)
        r = get_uint(parsing, root, "n_records", &set->n_records);
    if (r == 0)
        r = get_uint(parsing, root, "n_rows", &set->n_rows);
    if (r == 0)
        r = read_array(parsing, root, "sources", 1, LEAT_SOURCES_MAX, sizeof(*set->heads),
                       (void **)&set->heads, &set->n_heads, read_head);
    if (r == 0)
        r = read_array(parsing, root, "files", 1, LEAT_FILES_MAX, sizeof(*set->files),
                       (void **)&set->files, &set->n_files, read_file);
    if (r == 0)
        r = read_array(parsing, root, "shards", 2, LEAT_SET_SHARDS_MAX, sizeof(*set->shards),
                       (void **)&set->shards, &set->n_shards, read_shard);
    return r < 0 ? r : check_counts(parsing);
}

int leat_set_parse(const char *folder, const char *text, size_t n_bytes, struct leat_set **ret_set,
                   struct leat_error *err) {
    struct leat_error own = LEAT_ERROR_INIT;
    struct parsing parsing = {.set = calloc(1, sizeof(*parsing.set)), .err = err};
    struct leat_json *json = NULL;
    struct leat_json_node root;
    int r = 0;

    if (!parsing.set || !(parsing.set->folder = strdup(folder)) ||
        leat_json_new(n_bytes, &json) < 0)
        r = leat_error_oom(err);
    else if (leat_json_parse(json, text, n_bytes, n_bytes, &root, &own) < 0)
        r = leat_error_set(err, own.code == -ENOMEM ? -ENOMEM : -EBADMSG,
                           "%s/" LEAT_SET_NAME ": %.300s", folder, own.message);
    else
        r = read_root(&parsing, root);
    leat_json_free(json);
    if (r < 0)
        leat_set_free(parsing.set);
    else
        *ret_set = parsing.set;
    return r;
}

int leat_set_open(const char *folder, const char *spec_file, const struct leat_opener *opener,
                  struct leat_set **ret_set, struct leat_error *err) {
    struct leat_error own = LEAT_ERROR_INIT;
    char *path = leat_files_join(folder, LEAT_SET_NAME), *text = NULL;
    size_t n_bytes;
    int r = !path ? leat_error_oom(&own)
            : leat_elsewhere_is_object(path)
                ? leat_object_read_all(opener, path, LEAT_SET_BYTES_MAX, &text, &n_bytes, &own)
                : leat_opener_read(opener, path, LEAT_SET_BYTES_MAX, &text, &n_bytes, &own);

    free(path);
    if (r == -ENOENT)
        return leat_error_set(
            err, -ESTALE,
            "%.300s: the set is not sealed: seal it with `leatctl prepare %.200s --seal -o %.300s`",
            folder, spec_file ? spec_file : "FILE", folder);
    if (r < 0) {
        *err = own;
        return r;
    }
    r = leat_set_parse(folder, text, n_bytes, ret_set, err);
    free(text);
    return r;
}

/* ---- writing ---- */

static void add_hex(struct leat_text *text, const char *key, const uint8_t *bytes, size_t n) {
    char *hex = malloc(2 * n + 1);

    if (!hex) {
        text->failed = true;
        return;
    }
    leat_hex(bytes, n, hex);
    leat_json_add_bytes(text, key, hex, 2 * n);
    free(hex);
}

static void add_head(struct leat_text *text, const struct leat_set_head *head) {
    leat_json_line(text);
    leat_json_open(text, NULL, '{');
    leat_json_add_uint(text, "n_files", head->n_files);
    leat_json_add_uint(text, "record_bytes", head->record_bytes);
    add_hex(text, "head", head->bytes, head->n_bytes);
    leat_json_close(text, '}');
}

static void add_file(struct leat_text *text, const struct leat_set_file *file) {
    leat_json_line(text);
    leat_json_open(text, NULL, '{');
    leat_json_add_text(text, "name", file->name);
    leat_json_add_uint(text, "n_bytes", file->n_bytes);
    add_hex(text, "digest", file->digest, sizeof(file->digest));
    leat_json_close(text, '}');
}

static void add_shard(struct leat_text *text, const struct leat_set_shard *shard) {
    leat_json_line(text);
    leat_json_open(text, NULL, '{');
    leat_json_add_uint(text, "n_records", shard->n_records);
    leat_json_add_uint(text, "n_rows", shard->n_rows);
    add_hex(text, "blocks", shard->checksums, shard->n_blocks * LEAT_SET_CHECKSUM_BYTES);
    leat_json_close(text, '}');
}

bool leat_set_write(const struct leat_set *set, struct leat_text *text) {
    leat_json_open(text, NULL, '{');
    leat_json_add_uint(text, "leat_set", VERSION);
    add_hex(text, "spec", set->spec, sizeof(set->spec));
    add_hex(text, "data", set->data, sizeof(set->data));
    leat_json_add_text(text, "verify", set->is_full ? "full" : "sample");
    leat_json_add_uint(text, "n_records", set->n_records);
    leat_json_add_uint(text, "n_rows", set->n_rows);
    leat_json_open(text, "sources", '[');
    for (size_t i = 0; i < set->n_heads; i++)
        add_head(text, &set->heads[i]);
    leat_json_close(text, ']');
    leat_json_open(text, "files", '[');
    for (size_t i = 0; i < set->n_files; i++)
        add_file(text, &set->files[i]);
    leat_json_close(text, ']');
    leat_json_open(text, "shards", '[');
    for (size_t i = 0; i < set->n_shards; i++)
        add_shard(text, &set->shards[i]);
    leat_json_close(text, ']');
    leat_json_close(text, '}');
    leat_text_add(text, "\n");
    return !text->failed;
}

/* ---- its files ---- */

struct leat_data *leat_set_data(const struct leat_set *set, const struct leat_data_scope *scope) {
    struct leat_data *data = leat_data_alloc(set->n_files, set->is_full);

    for (size_t i = 0; data && i < set->n_files; i++) {
        data->states[i].n_bytes = set->files[i].n_bytes;
        data->n_bytes += set->files[i].n_bytes;
        memcpy(data->digests[i], set->files[i].digest, sizeof(data->digests[i]));
    }
    if (data)
        leat_data_digest(scope, data);
    return data;
}

int leat_set_check_file(const struct leat_set *set, size_t file, const char *path,
                        const struct leat_opener *opener, struct leat_error *err) {
    const struct leat_set_file *known = &set->files[file];
    struct leat_data_file opened;
    struct leat_data_hash hash;
    int r = leat_data_open(opener, path, &opened, err);

    if (r < 0)
        return r;
    if (opened.state.n_bytes == known->n_bytes)
        r = leat_data_hash(&opened, path, known->n_bytes, set->is_full, &hash, err);
    leat_data_close(&opened);
    if (r == 0 && (opened.state.n_bytes != known->n_bytes ||
                   memcmp(hash.digest, known->digest, sizeof(hash.digest)) != 0))
        r = leat_error_set(err, -ESTALE, "%s: this is not the file from which the set was made",
                           path);
    return r;
}
