/* cache.c: `leatctl cache ls`, `verify` and `rm`: what is in a folder of caches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/base/interrupt.h"
#include "client/cli/base/options.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/units.h"
#include "client/cli/cache/daemon.h"
#include "client/cli/cache/folder.h"
#include "pipeline/cache/merge.h"
#include "pipeline/tokenizer/json.h"

#define KEY_DIGITS 12
#define TOLD_MAX   16 /* damaged blocks of one cache that are told one by one */

static void print_text(struct leat_text *text) {
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, stdout);
    free(text->data);
    *text = (struct leat_text){.data = NULL};
}

static void add_place(struct leat_text *text, const struct leat_cli_cache *cache) {
    leat_text_add(text, "{\"folder\": ");
    leat_text_add_json(text, cache->folder, strlen(cache->folder));
    leat_text_add(text, ", \"file\": \"%s\"", cache->entry.name);
}

/* Where nothing is, that is told, so that no answer is not taken for a good one. */
static void add_none(struct leat_text *text, const struct leat_cli_caches *caches) {
    for (size_t i = 0; i < caches->n_folders; i++) {
        size_t n = leat_cache_merge_count(caches->folders[i]);

        leat_text_add_shown(text, caches->folders[i]);
        leat_text_add(text, ": no caches");
        if (n > 0)
            leat_text_add(text, ", but %zu shard%s, which `leatctl cache merge` joins", n,
                          n == 1 ? "" : "s");
        leat_text_add(text, "\n");
    }
}

/* ---- ls ---- */

static const char *state_of(const struct leat_cache_entry *entry) {
    if (entry->is_complete)
        return entry->is_in_use ? "in use" : "complete";
    return entry->is_in_use ? "being built" : "left";
}

/* What a cache says of itself is foreign: it is printed as JSON, if it is that. */
struct about {
    struct leat_json *json;
    struct leat_json_node root;
    bool is_there;
};

static void read_about(struct about *about, const struct leat_cache_file *file) {
    size_t n = file ? strlen(file->description) : 0;

    *about = (struct about){.json = NULL};
    if (n > 0 && leat_json_new(n, &about->json) == 0)
        about->is_there = leat_json_parse(about->json, file->description, n, n, &about->root,
                                          LEAT_ERROR_IGNORED) == 0;
}

static void add_string(struct leat_text *text, const struct about *about, const char *key) {
    struct leat_json_node node;
    const char *value;
    size_t n;

    if (!about->is_there || !leat_json_find(about->root, key, strlen(key), &node) ||
        leat_json_kind(node) != LEAT_JSON_STRING)
        return;
    value = leat_json_string(node, &n);
    leat_text_add_json(text, value, n);
}

static void add_files(struct leat_text *text, const struct about *about) {
    struct leat_json_node files, item, count;
    struct leat_json_iterator iterator;
    const char *value;
    size_t n;

    if (!about->is_there || !leat_json_find(about->root, "files", 5, &files) ||
        leat_json_kind(files) != LEAT_JSON_ARRAY)
        return;
    leat_json_iterate(files, &iterator);
    if (!leat_json_next(&iterator, &item) || leat_json_kind(item) != LEAT_JSON_STRING)
        return;
    value = leat_json_string(item, &n);
    leat_text_add(text, " ");
    leat_text_add_json(text, value, n);
    if (leat_json_find(about->root, "n_files", 7, &count) &&
        leat_json_kind(count) == LEAT_JSON_INT && leat_json_int(count) > 1)
        leat_text_add(text, " and %lld more", (long long)leat_json_int(count) - 1);
}

static void add_row(struct leat_text *text, const struct leat_cli_cache *cache,
                    const struct leat_cache_file *file, int64_t now_ns) {
    char bytes[LEAT_CLI_UNIT_MAX], records[LEAT_CLI_UNIT_MAX], age[LEAT_CLI_UNIT_MAX];
    int64_t age_ns = now_ns - cache->entry.used_ns;
    struct about about;

    read_about(&about, file);
    leat_text_add(text, "%-*.*s %-11s %10s %14s %16s  ", KEY_DIGITS, KEY_DIGITS, cache->entry.name,
                  file ? state_of(&cache->entry) : "damaged",
                  leat_cli_bytes(cache->entry.n_bytes, bytes),
                  file ? leat_cli_count(file->n_records, records) : "-",
                  leat_cli_duration(age_ns > 0 ? (uint64_t)age_ns : 0, age));
    add_string(text, &about, "stream");
    add_files(text, &about);
    leat_text_add(text, "\n");
    leat_json_free(about.json);
}

static void add_entry_json(struct leat_text *text, const struct leat_cli_cache *cache,
                           const struct leat_cache_file *file) {
    const struct leat_cache_entry *entry = &cache->entry;
    struct about about;

    read_about(&about, file);
    add_place(text, cache);
    leat_text_add(text, ", \"state\": \"%s\", \"n_bytes\": %llu, \"used\": %lld, \"made\": %lld",
                  file ? state_of(entry) : "damaged", (unsigned long long)entry->n_bytes,
                  (long long)(entry->used_ns / 1000000000),
                  (long long)(entry->made_ns / 1000000000));
    if (file)
        leat_text_add(text, ", \"n_blocks\": %zu, \"n_records\": %llu, \"n_rows\": %llu",
                      file->n_frames, (unsigned long long)file->n_records,
                      (unsigned long long)file->n_rows);
    leat_text_add(text, ", \"about\": %s}", about.is_there ? file->description : "null");
    leat_json_free(about.json);
}

static int64_t now(void) {
    struct timespec time;

    (void)clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int list_folders(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    struct leat_cli_caches caches;
    int status = leat_cli_caches_load(arguments, &caches, err);

    if (status != LEAT_CLI_OK)
        return status;
    if (arguments->json)
        leat_text_add(&text, "[");
    else if (caches.n_items == 0)
        add_none(&text, &caches);
    else
        leat_text_add(&text, "%-*s %-11s %10s %14s %16s  %s\n", KEY_DIGITS, "key", "state", "size",
                      "records", "last used, ago", "stream, files");
    for (size_t i = 0; i < caches.n_items; i++) {
        struct leat_cache_file *file = NULL;

        (void)leat_cache_store_peek(caches.items[i].folder, caches.items[i].entry.name, &file,
                                    LEAT_ERROR_IGNORED);
        leat_text_add(&text, arguments->json && i > 0 ? ",\n " : "");
        if (arguments->json)
            add_entry_json(&text, &caches.items[i], file);
        else
            add_row(&text, &caches.items[i], file, now());
        leat_cache_file_unref(file);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    print_text(&text);
    leat_cli_caches_deinit(&caches);
    return LEAT_CLI_OK;
}

static int cache_ls_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    return arguments->operand ? list_folders(arguments, err)
                              : leat_cli_cache_daemon_ls(arguments->json, err);
}

/* ---- verify ---- */

struct verification {
    struct leat_cli_progress progress;
    uint64_t n_done_bytes, n_total_bytes; /* of all files */
    bool as_json;
};

struct verdict {
    uint64_t n_blocks, n_bytes, n_damaged;
    struct leat_text told; /* JSON or lines */
    struct leat_error error;
};

static void tell_damage(struct verdict *verdict, const struct leat_cache_frame *frame,
                        bool as_json) {
    const struct leat_cache_span *span = &frame->span;

    if (verdict->n_damaged++ >= TOLD_MAX)
        return;
    if (as_json)
        leat_text_add(&verdict->told,
                      "%s{\"position\": %llu, \"n_bytes\": %llu, \"file\": %u, \"line\": %llu, "
                      "\"record\": %llu, \"n_records\": %u}",
                      verdict->n_damaged > 1 ? ", " : "", (unsigned long long)frame->position,
                      (unsigned long long)frame->n_stored, span->file,
                      (unsigned long long)span->line, (unsigned long long)frame->record,
                      span->n_records);
    else
        leat_text_add(&verdict->told,
                      "  byte %llu: a damaged block: %u records of file %u from line %llu on\n",
                      (unsigned long long)frame->position, span->n_records, span->file,
                      (unsigned long long)span->line);
}

static void verify_blocks(struct verification *verification, struct verdict *verdict,
                          const struct leat_cache_file *file) {
    struct leat_cache_bytes buffer = {.data = NULL};

    for (size_t i = 0; i < file->n_frames && !verdict->error.code; i++) {
        const struct leat_cache_frame *frame = &file->frames[i];
        uint8_t *stored = leat_cache_bytes_reserve(&buffer, (size_t)frame->n_stored);

        if (!stored)
            leat_error_oom(&verdict->error);
        else if (leat_cli_interrupt_seen())
            leat_error_set(&verdict->error, -EINTR, "interrupted");
        else if (leat_cache_file_read(file->fd, frame, stored, LEAT_ERROR_IGNORED) < 0)
            tell_damage(verdict, frame, verification->as_json);
        verdict->n_blocks++;
        verdict->n_bytes += frame->n_stored;
        leat_cli_progress_show(&verification->progress,
                               verification->n_done_bytes + verdict->n_bytes,
                               verification->n_total_bytes, "");
    }
    leat_cache_bytes_deinit(&buffer);
}

static bool verify(struct verification *verification, const struct leat_cli_cache *cache,
                   struct leat_text *text) {
    char bytes[LEAT_CLI_UNIT_MAX], count[LEAT_CLI_UNIT_MAX];
    struct verdict verdict = {.n_blocks = 0};
    struct leat_cache_file *file = NULL;
    bool is_good;

    if (leat_cache_store_peek(cache->folder, cache->entry.name, &file, &verdict.error) == 0)
        verify_blocks(verification, &verdict, file);
    verification->n_done_bytes += cache->entry.n_bytes;
    is_good = verdict.n_damaged == 0 && !verdict.error.code &&
              (file->is_complete || !cache->entry.is_complete);
    if (verification->as_json) {
        add_place(text, cache);
        leat_text_add(text,
                      ", \"is_good\": %s, \"n_blocks\": %llu, \"n_bytes\": %llu, \"n_damaged\": "
                      "%llu, \"damaged\": [%s], \"error\": ",
                      is_good ? "true" : "false", (unsigned long long)verdict.n_blocks,
                      (unsigned long long)verdict.n_bytes, (unsigned long long)verdict.n_damaged,
                      verdict.told.data ? verdict.told.data : "");
        leat_text_add_json(text, verdict.error.message, strlen(verdict.error.message));
        leat_text_add(text, "}");
    } else {
        leat_text_add_line(text, "%.*s: %s blocks, %s: %s", KEY_DIGITS, cache->entry.name,
                           leat_cli_count(verdict.n_blocks, count),
                           leat_cli_bytes(verdict.n_bytes, bytes),
                           verdict.error.code      ? verdict.error.message
                           : is_good               ? "good"
                           : verdict.n_damaged > 0 ? "damaged blocks; runs make them again"
                                                   : "its index is damaged; a run makes it again");
        leat_text_add(text, "%s", verdict.told.data ? verdict.told.data : "");
    }
    free(verdict.told.data);
    leat_cache_file_unref(file);
    return is_good;
}

static int cache_verify_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct verification verification = {.as_json = arguments->json};
    struct leat_text text = {.data = NULL};
    struct leat_cli_caches caches;
    int status = leat_cli_caches_load(arguments, &caches, err);

    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    leat_cli_progress_begin(&verification.progress, LEAT_PROGRESS_BYTES, arguments->no_progress);
    for (size_t i = 0; i < caches.n_items; i++)
        verification.n_total_bytes += caches.items[i].entry.n_bytes;
    leat_text_add(&text, arguments->json ? "[" : "");
    if (caches.n_items == 0 && !arguments->json)
        add_none(&text, &caches);
    for (size_t i = 0; i < caches.n_items && !leat_cli_interrupt_seen(); i++) {
        leat_text_add(&text, arguments->json && i > 0 ? ",\n " : "");
        if (!verify(&verification, &caches.items[i], &text))
            status = LEAT_CLI_FAILURE;
        leat_cli_progress_hide(&verification.progress);
        if (!arguments->json)
            print_text(&text);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    print_text(&text);
    leat_cli_caches_deinit(&caches);
    return leat_cli_interrupt_seen() ? LEAT_CLI_INTERRUPTED : status;
}

/* ---- rm ---- */

static void tell_removed(struct leat_text *text, const struct leat_cli_cache *cache,
                         const struct leat_error *err, bool as_json) {
    char bytes[LEAT_CLI_UNIT_MAX];

    if (as_json) {
        add_place(text, cache);
        leat_text_add(text, ", \"is_removed\": %s, \"n_bytes\": %llu, \"error\": ",
                      err->code ? "false" : "true", (unsigned long long)cache->entry.n_bytes);
        leat_text_add_json(text, err->message, strlen(err->message));
        leat_text_add(text, "}");
    } else if (err->code) {
        leat_text_add_line(text, "%s", err->message);
    } else {
        leat_text_add(text, "%.*s: removed, %s\n", KEY_DIGITS, cache->entry.name,
                      leat_cli_bytes(cache->entry.n_bytes, bytes));
    }
}

static int cache_rm_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    struct leat_cli_caches caches;
    int status;

    if ((arguments->keys.n_items == 0) != arguments->all) {
        leat_error_set(err, -EINVAL, "leatctl cache rm: name caches with --key, or give --all");
        return LEAT_CLI_USAGE;
    }
    status = leat_cli_caches_load(arguments, &caches, err);
    if (status != LEAT_CLI_OK)
        return status;
    leat_text_add(&text, arguments->json ? "[" : "");
    if (caches.n_items == 0 && !arguments->json)
        add_none(&text, &caches);
    for (size_t i = 0; i < caches.n_items; i++) {
        struct leat_error own = LEAT_ERROR_INIT;

        if (leat_cache_store_remove(caches.items[i].folder, caches.items[i].entry.name, &own) < 0)
            status = LEAT_CLI_FAILURE;
        leat_text_add(&text, arguments->json && i > 0 ? ",\n " : "");
        tell_removed(&text, &caches.items[i], &own, arguments->json);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    print_text(&text);
    leat_cli_caches_deinit(&caches);
    return status;
}

#define CACHE_TEXT "Of the folders that the streams of FILE name in `cache: {path: ..}`, or of DIR."

#define KEY                                                                                        \
    {                                                                                              \
        .name = "key", .kind = LEAT_CLI_LIST, .offset = LEAT_CLI_AT(keys), .value = "KEY",         \
        .help = "only the cache whose key begins so; may be given several times"                   \
    }
static const struct leat_cli_option cache_ls_options[] = {KEY, LEAT_CLI_OPTION_END};

const struct leat_cli_command leat_cli_cache_ls_command = {
    .name = "cache ls",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "list the caches of a folder, or of the daemon",
    .description = CACHE_TEXT " Without any, of the folders that the running\n"
                              "daemon's streams name, which often only the daemon may read.",
    .operand = "[FILE|DIR]",
    .more = "[STREAM]",
    .examples = "  leatctl cache ls\n"
                "  leatctl cache ls train.yaml\n"
                "  leatctl cache ls /var/cache/leat --json\n",
    .asks_daemon = true,
    .options = cache_ls_options,
    .run = cache_ls_main,
};

static const struct leat_cli_option cache_verify_options[] = {KEY, LEAT_CLI_OPTION_NO_PROGRESS,
                                                              LEAT_CLI_OPTION_END};

const struct leat_cli_command leat_cli_cache_verify_command = {
    .name = "cache verify",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "read all blocks of caches and check them",
    .description = CACHE_TEXT "\n\nExit status 1 if anything is damaged. Nothing need be done "
                              "about it: what is damaged is never given\nto a trainer, but made "
                              "again from the source, and put right.",
    .operand = "FILE|DIR",
    .more = "[STREAM]",
    .examples = "  leatctl cache verify train.yaml\n",
    .options = cache_verify_options,
    .run = cache_verify_main,
};

static const struct leat_cli_option cache_rm_options[] = {
    KEY,
    {.name = "all",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(all),
     .help = "all that are not in use"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_cache_rm_command = {
    .name = "cache rm",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "remove caches that are not in use",
    .description = CACHE_TEXT,
    .operand = "FILE|DIR",
    .more = "[STREAM]",
    .examples = "  leatctl cache rm train.yaml --key 3b5aa412\n"
                "  leatctl cache rm /var/cache/leat --all\n",
    .options = cache_rm_options,
    .run = cache_rm_main,
};
