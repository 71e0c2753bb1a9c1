/* cache.c: `leatctl cache ls`, `verify` and `rm`: the contents of a folder of caches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/members.h"
#include "client/cli/base/output.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/units.h"
#include "client/cli/cache/folder.h"
#include "pipeline/cache/shards.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/clock.h"
#include "proto/base/json_writer.h"

#define KEY_DIGITS 12
#define LISTED_MAX 16 /* damaged blocks of a cache that are listed one by one */

static void open_place(struct leat_text *json, const struct leat_cli_cache *cache) {
    leat_json_line(json);
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "folder", cache->folder);
    leat_json_add_text(json, "file", cache->entry.name);
}

/* Says that a folder has no caches, so that an empty answer is not taken for a good one. */
static void add_none(struct leat_text *text, const struct leat_cli_caches *caches) {
    for (size_t i = 0; i < caches->n_folders; i++) {
        size_t n = leat_cache_shards_count(caches->folders[i]);

        leat_text_add_shown(text, caches->folders[i]);
        leat_text_add(text, ": there are no caches");
        if (n > 0)
            leat_text_add(text,
                          ", but %zu shard%s; `leatctl cache merge` joins shards into a cache", n,
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

/* A cache's description of itself is foreign data: it is printed only if it is JSON. */
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
    open_place(text, cache);
    leat_json_add_text(text, "state", file ? state_of(entry) : "damaged");
    leat_json_add_uint(text, "n_bytes", entry->n_bytes);
    leat_json_add_int(text, "used", entry->used_ns / 1000000000);
    leat_json_add_int(text, "made", entry->made_ns / 1000000000);
    if (file) {
        leat_json_add_uint(text, "n_blocks", file->n_frames);
        leat_json_add_uint(text, "n_records", file->n_records);
        leat_json_add_uint(text, "n_rows", file->n_rows);
    }
    if (about.is_there)
        leat_json_add_raw(text, "about", file->description, strlen(file->description));
    else
        leat_json_add_null(text, "about");
    leat_json_close(text, '}');
    leat_json_free(about.json);
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
        if (arguments->json)
            add_entry_json(&text, &caches.items[i], file);
        else
            add_row(&text, &caches.items[i], file, (int64_t)leat_unix_ns());
        leat_cache_file_unref(file);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    leat_cli_print(&text);
    leat_cli_caches_deinit(&caches);
    return LEAT_CLI_OK;
}

static const struct leat_cli_member members[] = {
    MEMBER(Leat__Cache, stream, MEMBER_TEXT, "stream"),
    MEMBER(Leat__Cache, state, MEMBER_TEXT, "state"),
    MEMBER(Leat__Cache, n_bytes, MEMBER_BYTES, "size"),
    MEMBER(Leat__Cache, n_records, MEMBER_U64, "records"),
    MEMBER(Leat__Cache, idle_ns, MEMBER_NS, "last used, ago"),
    MEMBER(Leat__Cache, folder, MEMBER_TEXT, "folder"),
    MEMBER(Leat__Cache, file, MEMBER_TEXT, "file"),
    MEMBERS_END,
};

static void add_table(struct leat_text *text, const void *reply,
                      const struct leat_cli_arguments *arguments) {
    const Leat__CachesReply *caches = reply;

    (void)arguments;
    if (caches->n_caches == 0)
        leat_text_add(text, "no stream of the daemon has a cache; to add one, give a stream the "
                            "option `cache: {path: FOLDER}`\n");
    else
        leat_cli_members_table(text, members, (const void *const *)caches->caches,
                               caches->n_caches);
    if (caches->n_left > 0)
        leat_text_add(text, "and %u more\n", caches->n_left);
}

static int list_daemon(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_CACHES,
                                                    .add_text = add_table,
                                                    .is_list = true},
                        arguments, err);
}

static int cache_ls_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    return arguments->operand ? list_folders(arguments, err) : list_daemon(arguments, err);
}

/* ---- verify ---- */

struct verification {
    struct leat_cli_progress progress;
    uint64_t n_done_bytes, n_total_bytes; /* of all files */
    bool as_json;
};

struct verdict {
    uint64_t n_blocks, n_bytes, n_damaged;
    struct leat_text list; /* of damaged blocks, as JSON or lines */
    struct leat_error error;
};

static void add_damage(struct verdict *verdict, const struct leat_cache_frame *frame,
                       bool as_json) {
    const struct leat_cache_span *span = &frame->span;

    if (verdict->n_damaged++ >= LISTED_MAX)
        return;
    if (as_json) {
        leat_json_open(&verdict->list, NULL, '{');
        leat_json_add_uint(&verdict->list, "position", frame->position);
        leat_json_add_uint(&verdict->list, "n_bytes", frame->n_stored);
        leat_json_add_uint(&verdict->list, "file", span->file);
        leat_json_add_uint(&verdict->list, "line", span->line);
        leat_json_add_uint(&verdict->list, "record", frame->record);
        leat_json_add_uint(&verdict->list, "n_records", span->n_records);
        leat_json_close(&verdict->list, '}');
    } else
        leat_text_add(
            &verdict->list,
            "  byte %llu: this block is damaged; it has %u records of file %u, from line %llu on\n",
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
            add_damage(verdict, frame, verification->as_json);
        verdict->n_blocks++;
        verdict->n_bytes += frame->n_stored;
        leat_cli_progress_show(&verification->progress,
                               verification->n_done_bytes + verdict->n_bytes,
                               verification->n_total_bytes, "");
    }
    leat_cache_bytes_deinit(&buffer);
}

static bool verify_cache(struct verification *verification, const struct leat_cli_cache *cache,
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
        open_place(text, cache);
        leat_json_add_bool(text, "is_good", is_good);
        leat_json_add_uint(text, "n_blocks", verdict.n_blocks);
        leat_json_add_uint(text, "n_bytes", verdict.n_bytes);
        leat_json_add_uint(text, "n_damaged", verdict.n_damaged);
        leat_json_open(text, "damaged", '[');
        leat_text_add_bytes(text, verdict.list.data, verdict.list.n_bytes);
        leat_json_close(text, ']');
        leat_json_add_text(text, "error", verdict.error.message);
        leat_json_close(text, '}');
    } else {
        leat_text_add_line(
            text, "%.*s: %s blocks, %s: %s", KEY_DIGITS, cache->entry.name,
            leat_cli_count(verdict.n_blocks, count), leat_cli_bytes(verdict.n_bytes, bytes),
            verdict.error.code      ? verdict.error.message
            : is_good               ? "good"
            : verdict.n_damaged > 0 ? "some blocks are damaged; the next run makes them again"
                                    : "its index is damaged; the next run makes it again");
        leat_text_add(text, "%s", verdict.list.data ? verdict.list.data : "");
    }
    free(verdict.list.data);
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
        if (!verify_cache(&verification, &caches.items[i], &text))
            status = LEAT_CLI_FAILURE;
        leat_cli_progress_hide(&verification.progress);
        if (!arguments->json)
            leat_cli_print(&text);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    leat_cli_print(&text);
    leat_cli_caches_deinit(&caches);
    return leat_cli_interrupt_seen() ? LEAT_CLI_INTERRUPTED : status;
}

/* ---- rm ---- */

static void add_removed(struct leat_text *text, const struct leat_cli_cache *cache,
                        const struct leat_error *err, bool as_json) {
    char bytes[LEAT_CLI_UNIT_MAX];

    if (as_json) {
        open_place(text, cache);
        leat_json_add_bool(text, "is_removed", !err->code);
        leat_json_add_uint(text, "n_bytes", cache->entry.n_bytes);
        leat_json_add_text(text, "error", err->message);
        leat_json_close(text, '}');
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
        leat_error_set(err, -EINVAL,
                       "leatctl cache rm: give --key KEY for each cache to remove, or --all");
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
        add_removed(&text, &caches.items[i], &own, arguments->json);
    }
    leat_text_add(&text, arguments->json ? "]\n" : "");
    leat_cli_print(&text);
    leat_cli_caches_deinit(&caches);
    return status;
}

#define CACHE_TEXT                                                                                 \
    "Looks for caches in the folder DIR. For a FILE, the command looks in the cache folders of\n"  \
    "its streams (option `cache: {path: ..}`)."

#define KEY                                                                                        \
    LEAT_CLI_OPTION(LIST, "key", keys,                                                             \
                    "only the cache whose key starts with KEY; you may repeat this option",        \
                    .value = "KEY")
static const struct leat_cli_option cache_ls_options[] = {KEY, LEAT_CLI_OPTION_END};

const struct leat_cli_command leat_cli_cache_ls_command = {
    .name = "cache ls",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "list the caches of a folder, or of the daemon",
    .description = CACHE_TEXT " Without an argument, it asks the running\n"
                              "daemon for the caches of the daemon's streams.",
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
    .description = CACHE_TEXT
    "\n"
    "\n"
    "The exit status is 1 if a block is damaged. You need not repair the block: the next\n"
    "run makes it again from the source.",
    .operand = "FILE|DIR",
    .more = "[STREAM]",
    .examples = "  leatctl cache verify train.yaml\n",
    .options = cache_verify_options,
    .run = cache_verify_main,
};

static const struct leat_cli_option cache_rm_options[] = {
    KEY,
    LEAT_CLI_OPTION(FLAG, "all", all, "remove all caches that are not in use"),
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
