/* control/caches.c: the verb caches: lists the cache folders of the settings' streams, which often
 * only the daemon's user may read.
 *
 * Owner: loop; while the task is on the pool the worker has all of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/control/describe.h"
#include "pipeline/cache/store.h"
#include "pipeline/spec/cache_options.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/clock.h"

#define CACHES_MAX 1000 /* of a reply */

struct folder {
    char *path;
    char *stream; /* whose spec names the folder */
    struct leat_cache_entry *entries;
    size_t n_entries;
    struct leat_error error;
};

/* One row of the reply: a file, or a folder without files. */
struct row {
    const struct folder *folder;
    const struct leat_cache_entry *entry; /* NULL: there is none */
    char stream[LEAT_NAME_MAX + 1];
    uint64_t n_records;
    bool is_damaged;
};

struct leat_control_caches {
    struct leat_control_job job;
    struct folder *folders;
    size_t n_folders;
    struct row rows[CACHES_MAX];
    size_t n_rows, n_left;
};

static void caches_free(struct leat_control_job *job) {
    struct leat_control_caches *caches = (struct leat_control_caches *)job;

    for (size_t i = 0; i < caches->n_folders; i++) {
        free(caches->folders[i].path);
        free(caches->folders[i].stream);
        free(caches->folders[i].entries);
    }
    free(caches->folders);
    free(caches);
}

/* ---- on the pool ---- */

/* The file names the stream that it was made for; nothing else is taken from its description. */
static void read_stream(struct row *row, const char *description) {
    size_t n = strlen(description), n_text;
    struct leat_json *json;
    struct leat_json_node root, node;
    const char *text;

    if (n == 0 || leat_json_new(n, &json) < 0)
        return;
    if (leat_json_parse(json, description, n, n, &root, LEAT_ERROR_IGNORED) == 0 &&
        leat_json_find(root, "stream", 6, &node) && leat_json_kind(node) == LEAT_JSON_STRING) {
        text = leat_json_string(node, &n_text);
        memcpy(row->stream, text, n_text < LEAT_NAME_MAX ? n_text : LEAT_NAME_MAX);
    }
    leat_json_free(json);
}

static void add_row(struct leat_control_caches *caches, const struct folder *folder,
                    const struct leat_cache_entry *entry) {
    struct leat_cache_file *file = NULL;
    struct row *row;

    if (caches->n_rows == CACHES_MAX) {
        caches->n_left++;
        return;
    }
    row = &caches->rows[caches->n_rows++];
    *row = (struct row){.folder = folder, .entry = entry};
    if (!entry)
        return;
    row->is_damaged =
        leat_cache_store_peek(folder->path, entry->name, &file, LEAT_ERROR_IGNORED) < 0;
    if (file) {
        row->n_records = file->n_records;
        read_stream(row, file->description);
    }
    leat_cache_file_unref(file);
}

static void caches_work(struct leat_task *task) {
    struct leat_control_caches *caches = (struct leat_control_caches *)task;

    for (size_t i = 0; i < caches->n_folders; i++) {
        struct folder *folder = &caches->folders[i];
        int r = leat_cache_store_list(folder->path, true, &folder->entries, &folder->n_entries,
                                      &folder->error);

        if (r == -ENOENT)
            folder->error = LEAT_ERROR_INIT; /* nothing was cached yet */
        if (r < 0 || folder->n_entries == 0)
            add_row(caches, folder, NULL);
        for (size_t j = folder->n_entries; r == 0 && j > 0; j--) /* the last used ones first */
            add_row(caches, folder, &folder->entries[j - 1]);
    }
}

/* ---- on the loop ---- */

static const char *state_of(const struct row *row) {
    const struct leat_cache_entry *entry = row->entry;

    if (!entry)
        return row->folder->error.code ? row->folder->error.message : "none";
    if (row->is_damaged)
        return "damaged";
    if (entry->is_complete)
        return entry->is_in_use ? "in use" : "complete";
    return entry->is_in_use ? "being built" : "left";
}

static uint64_t idle_ns(const struct leat_cache_entry *entry) {
    int64_t now_ns = (int64_t)leat_unix_ns();

    return now_ns > entry->used_ns ? (uint64_t)(now_ns - entry->used_ns) : 0;
}

static void describe(const struct row *row, Leat__Cache *message) {
    message->folder = row->folder->path;
    message->state = (char *)(uintptr_t)state_of(row);
    message->stream = row->stream[0] ? (char *)(uintptr_t)row->stream : row->folder->stream;
    if (!row->entry)
        return;
    message->file = (char *)(uintptr_t)row->entry->name;
    message->n_bytes = row->entry->n_bytes;
    message->n_records = row->n_records;
    message->idle_ns = idle_ns(row->entry);
}

static void answer(struct leat_control_job *job) {
    const struct leat_control_caches *caches = (const struct leat_control_caches *)job;
    Leat__CachesReply message = LEAT__CACHES_REPLY__INIT;
    struct leat_arena arena;

    leat_arena_init(&arena);
    message.caches = leat_control_messages(&arena, &leat__cache__descriptor, caches->n_rows);
    for (; message.caches && message.n_caches < caches->n_rows; message.n_caches++)
        describe(&caches->rows[message.n_caches], message.caches[message.n_caches]);
    message.n_left = (uint32_t)caches->n_left;
    leat_control_answer(job->control, LEAT__CONTROL_REPLY__VERB_CACHES,
                        message.caches ? &message : NULL);
    leat_arena_deinit(&arena);
}

static int add_folder(struct leat_control_caches *caches, const struct leat_spec *spec) {
    struct folder *folder = &caches->folders[caches->n_folders];
    char *path;
    int r = leat_cache_folder(spec, &path, LEAT_ERROR_IGNORED);

    if (r < 0 || !path)
        return r;
    *folder = (struct folder){.path = path, .stream = strdup(spec->name)};
    caches->n_folders++; /* even if it is incomplete, so that it is freed */
    if (!folder->stream)
        return -ENOMEM;
    for (size_t i = 0; i + 1 < caches->n_folders; i++) {
        if (strcmp(caches->folders[i].path, folder->path) != 0)
            continue;
        caches->n_folders--;
        free(folder->path);
        free(folder->stream);
        return 0;
    }
    return 0;
}

static int add_folders(struct leat_control_caches *caches, const struct leat_streams *streams) {
    caches->folders = calloc(leat_streams_count(streams) + 1, sizeof(*caches->folders));
    if (!caches->folders)
        return -ENOMEM;
    for (const struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        if (!stream->is_own && !stream->is_removed && add_folder(caches, stream->spec) < 0)
            return -ENOMEM;
    return 0;
}

void leat_control_caches(struct leat_control *control, const Leat__ControlRequest *request,
                         struct leat_arena *arena) {
    struct leat_control_caches *caches = calloc(1, sizeof(*caches));

    (void)request;
    (void)arena;
    if (!caches || add_folders(caches, &control->controls->feeds->streams) < 0) {
        if (caches)
            caches_free(&caches->job);
        leat_control_fail_memory(control);
        return;
    }
    caches->job = (struct leat_control_job){
        .task = {.work = caches_work, .done = leat_control_job_done},
        .answer = answer,
        .free = caches_free,
    };
    leat_control_job_begin(&caches->job, control);
    leat_scheduler_add(control->controls->env->scheduler, &control->user->queue, &caches->job.task);
}
