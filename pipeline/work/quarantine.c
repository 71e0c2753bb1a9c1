/* quarantine.c: bad records as JSON lines, in the order of the data: file, line and column of the
 * fault (from 1), byte offset of the record, stage, field, reason, raw bytes.
 *
 * The raw bytes are in "raw" if they are valid UTF-8, else in "raw_base64", so that nothing is
 * lost. A source that can show its records writes them itself. In a compressed file, line and
 * offset are those of its text. The rest of a damaged file is one record, with the bytes that were
 * read.
 *
 * The file has the first epoch of a run, and is a function of the data. So runs of a stream at the
 * same time, say of several ranks, write the same bytes to the same places. Each holds a shared
 * lock on the file; only a run that is alone empties it first.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/work/quarantine.h"
#include "proto/base/json_writer.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

void leat_bad_record_error(const struct leat_plan *plan, uint32_t file,
                           const struct leat_bad_record *record, struct leat_error *err) {
    *err = LEAT_ERROR_INIT;
    leat_error_set(err, -EBADMSG, "%s", record->message);
    leat_error_locate(err, plan->source->files.paths[file], (uint32_t)record->line, record->column);
    if (record->field)
        leat_error_prefix(err, "%s", record->field);
    if (record->stage)
        leat_error_prefix(err, "%s", record->stage);
}

static void add_base64(struct leat_text *text, const uint8_t *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16;
        char group[4];

        word |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
        word |= i + 2 < n ? bytes[i + 2] : 0;
        for (int k = 0; k < 4; k++)
            group[k] = digits[(word >> (18 - 6 * k)) & 63];
        if (i + 1 >= n)
            group[2] = '=';
        if (i + 2 >= n)
            group[3] = '=';
        leat_text_add_bytes(text, group, sizeof(group));
    }
}

void leat_quarantine_add(struct leat_text *text, const struct leat_plan *plan, uint32_t file,
                         const struct leat_bad_record *bad) {
    const struct leat_plan_source *source = leat_plan_source_of(plan, file);

    leat_json_open(text, NULL, '{');
    leat_json_add_text(text, "file", plan->source->files.paths[file]);
    leat_json_add_uint(text, "line", bad->line);
    if (bad->column)
        leat_json_add_uint(text, "column", bad->column);
    leat_json_add_uint(text, "offset", bad->offset);
    leat_json_add_text(text, "stage", bad->stage ? bad->stage : source->ops->name);
    if (bad->field)
        leat_json_add_text(text, "field", bad->field);
    leat_json_add_text(text, "reason", bad->message);
    if (source->ops->show && bad->n_bytes > 0) {
        leat_json_add_raw(text, "raw", "", 0);
        source->ops->show(&source->config->base, bad->bytes, bad->n_bytes, text);
    } else if (leat_utf8_is_valid(bad->bytes, bad->n_bytes)) {
        leat_json_add_bytes(text, "raw", bad->bytes, bad->n_bytes);
    } else {
        leat_json_add_raw(text, "raw_base64", "\"", 1);
        add_base64(text, bad->bytes, bad->n_bytes);
        leat_text_add(text, "\"");
    }
    leat_json_close(text, '}');
    leat_text_add(text, "\n");
}

static int fail(const char *path, struct leat_error *err) {
    return leat_error_set(err, -errno, "%s: cannot write bad records: %s", path, strerror(errno));
}

static int open_file(const char *path, struct leat_error *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
    struct stat info;
    int r = 0;

    if (fd < 0)
        return fail(path, err);
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        r = leat_error_set(err, -EINVAL, "%s: cannot write bad records: this is not a regular file",
                           path);
    else if (flock(fd, LOCK_EX | LOCK_NB) == 0 && ftruncate(fd, 0) < 0)
        r = fail(path, err);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    (void)flock(fd, LOCK_SH | LOCK_NB);
    return fd;
}

int leat_quarantine_execute(struct leat_quarantine_job *job, struct leat_error *err) {
    size_t n_written = 0;

    if (job->fd < 0)
        job->fd = open_file(job->path, err);
    if (job->fd < 0)
        return job->fd;
    while (n_written < job->n_bytes) {
        ssize_t n = pwrite(job->fd, job->text + n_written, job->n_bytes - n_written,
                           (off_t)(job->offset + n_written));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(job->path, err);
        n_written += (size_t)n;
    }
    return 0;
}
