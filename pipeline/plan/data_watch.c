#include "pipeline/plan/data_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/plan/plan.h"

#define TEXT_BYTES 512

void leat_data_watch_init(struct leat_data_watch *watch, const struct leat_plan *plan,
                          const struct leat_opener *opener, bool fails) {
    *watch = (struct leat_data_watch){.plan = plan, .opener = opener, .fails = fails};
    watch->end_file = plan->data && !plan->set ? plan->data->n_files : 0;
}

void leat_data_watch_limit(struct leat_data_watch *watch, size_t first_file, size_t end_file) {
    watch->first_file = watch->next_file = first_file;
    if (watch->end_file > end_file)
        watch->end_file = end_file;
}

void leat_data_watch_deinit(struct leat_data_watch *watch) {
    for (size_t i = 0; i < watch->n_texts; i++)
        free(watch->texts[i]);
    leat_data_unref(watch->known);
}

void leat_data_watch_next_pass(struct leat_data_watch *watch) {
    watch->next_file = watch->first_file;
}

bool leat_data_watch_is_due(const struct leat_data_watch *watch) {
    return watch->next_file < watch->end_file;
}

static const struct leat_data *known_of(const struct leat_data_watch *watch) {
    return watch->known ? watch->known : watch->plan->data;
}

/* ---- one file ---- */

struct look {
    size_t file;
    int code; /* -errno: why it cannot be opened */
    struct leat_data_file opened;
    struct leat_file_state now;
    struct leat_data_hash hash; /* of all of it */
    bool begins_as_before;      /* its first bytes, as many as it had, are what it was */
};

static int hash_file(const struct leat_data_watch *watch, struct look *look,
                     struct leat_error *err) {
    const struct leat_data *known = known_of(watch);
    const char *path = watch->plan->source->files.paths[look->file];
    uint64_t n_before = known->states[look->file].n_bytes;
    int r = 0;

    if (n_before <= look->now.n_bytes) {
        r = leat_data_hash(&look->opened, path, n_before, known->is_full, &look->hash, err);
        look->begins_as_before = r == 0 && memcmp(look->hash.digest, known->digests[look->file],
                                                  sizeof(look->hash.digest)) == 0;
    }
    if (r == 0 && n_before != look->now.n_bytes)
        r = leat_data_hash(&look->opened, path, look->now.n_bytes, known->is_full, &look->hash,
                           err);
    return r;
}

static void describe_rewritten(const struct leat_data *known, const struct look *look, char *text) {
    struct leat_data_range difference = {0, 0};
    int n = snprintf(text, TEXT_BYTES, "was rewritten with the same size (%llu bytes)",
                     (unsigned long long)look->now.n_bytes);

    if (look->file < known->n_detailed)
        difference = leat_data_difference(known->ranges[look->file], look->hash.ranges,
                                          look->now.n_bytes, known->is_full);
    if (difference.n_bytes > 0)
        (void)snprintf(text + n, TEXT_BYTES - (size_t)n, "; bytes %llu to %llu differ",
                       (unsigned long long)difference.offset,
                       (unsigned long long)(difference.offset + difference.n_bytes));
}

static void describe_change(const struct leat_data *known, const struct look *look, char *text) {
    const struct leat_file_state *before = &known->states[look->file];
    bool is_replaced = before->device != look->now.device || before->inode != look->now.inode;
    const char *what = "was rewritten";

    if (look->code == -ENOENT) {
        (void)snprintf(text, TEXT_BYTES, "was removed");
    } else if (look->code < 0) {
        (void)snprintf(text, TEXT_BYTES, "can no longer be read (%s)", strerror(-look->code));
    } else if (before->n_bytes == LEAT_DATA_UNREADABLE) {
        (void)snprintf(text, TEXT_BYTES, "could not be read before, but can be read now");
    } else if (!is_replaced && before->n_bytes == look->now.n_bytes) {
        describe_rewritten(known, look, text);
    } else {
        if (is_replaced)
            what = "was replaced by another file";
        else if (before->n_bytes > look->now.n_bytes)
            what = "was shortened";
        else if (look->begins_as_before)
            what = "was appended to";
        (void)snprintf(text, TEXT_BYTES, "%s: it had %llu bytes and now has %llu bytes", what,
                       (unsigned long long)before->n_bytes, (unsigned long long)look->now.n_bytes);
    }
}

/* Remembers the file as it is now. */
static int remember_file(struct leat_data_watch *watch, const struct look *look,
                         struct leat_error *err) {
    if (!watch->known)
        watch->known = leat_data_copy(watch->plan->data);
    if (!watch->known)
        return leat_error_oom(err);
    watch->known->states[look->file] = look->now;
    memcpy(watch->known->digests[look->file], look->hash.digest, sizeof(look->hash.digest));
    if (look->file < watch->known->n_detailed)
        memcpy(watch->known->ranges[look->file], look->hash.ranges, sizeof(look->hash.ranges));
    return 0;
}

static int tell_change(struct leat_data_watch *watch, const struct look *look,
                       struct leat_error *err) {
    const char *path = watch->plan->source->files.paths[look->file];
    struct leat_error change = LEAT_ERROR_INIT;
    char text[TEXT_BYTES], line[LEAT_ERROR_PRINT_MAX];

    describe_change(known_of(watch), look, text);
    leat_error_set(&change, -ESTALE, "%s", text);
    leat_error_locate(&change, path, 0, 0);
    (void)leat_error_print(&change, line, sizeof(line));
    watch->n_changes++;
    if (watch->n_texts < LEAT_DATA_WATCH_TEXTS && (watch->texts[watch->n_texts] = strdup(line)))
        watch->n_texts++;
    if (!watch->fails)
        return remember_file(watch, look, err);
    leat_error_set(err, -ESTALE,
                   "the data changed while leat read it: this file %s; if files may change, give "
                   "the stream `on_change: warn` or `on_change: follow`",
                   text);
    leat_error_locate(err, path, 0, 0);
    return -ESTALE;
}

static bool has_same_bytes(const struct leat_data_watch *watch, const struct look *look) {
    uint64_t n_before = known_of(watch)->states[look->file].n_bytes;

    return look->code < 0 ? n_before == LEAT_DATA_UNREADABLE
                          : n_before == look->now.n_bytes && look->begins_as_before;
}

static int look_at(struct leat_data_watch *watch, size_t file, struct leat_error *err) {
    struct look look = {.file = file};
    int r = 0;

    look.code = leat_data_open(watch->opener, watch->plan->source->files.paths[file], &look.opened,
                               LEAT_ERROR_IGNORED);
    look.now = look.code < 0 ? (struct leat_file_state){.n_bytes = LEAT_DATA_UNREADABLE}
                             : look.opened.state;
    if (memcmp(&look.now, &known_of(watch)->states[file], sizeof(look.now)) != 0) {
        if (look.code == 0)
            r = hash_file(watch, &look, err);
        if (r == 0)
            r = has_same_bytes(watch, &look) ? remember_file(watch, &look, err)
                                             : tell_change(watch, &look, err);
    }
    leat_data_close(&look.opened);
    return r;
}

/* ---- all of them ---- */

int leat_data_watch_check(struct leat_data_watch *watch, size_t max_files, struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < max_files && leat_data_watch_is_due(watch); i++)
        r = look_at(watch, watch->next_file++, err);
    return r;
}

int leat_data_watch_end_file(struct leat_data_watch *watch, size_t file,
                             const struct leat_input *input, struct leat_error *err) {
    const struct leat_file_state *known;
    struct leat_file_state now;
    int r;

    if (file < watch->first_file || file >= watch->end_file)
        return 0;
    r = leat_input_state(input, &now, err);
    known = &known_of(watch)->states[file];
    if (r < 0 || (now.n_bytes == known->n_bytes && now.modified_ns == known->modified_ns))
        return r;
    return look_at(watch, file, err);
}

uint64_t leat_data_watch_take_changes(struct leat_data_watch *watch) {
    uint64_t n = watch->n_changes;

    watch->n_changes = 0;
    return n;
}

char *leat_data_watch_take_text(struct leat_data_watch *watch) {
    char *text = watch->n_texts > 0 ? watch->texts[0] : NULL;

    if (text)
        memmove(watch->texts, watch->texts + 1, --watch->n_texts * sizeof(watch->texts[0]));
    return text;
}
