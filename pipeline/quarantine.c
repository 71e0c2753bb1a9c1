/* quarantine.c: bad records as JSON lines, in the order of the data: file, line, byte offset,
 * reason, raw bytes.
 *
 * The raw bytes are in "raw" if they are valid UTF-8, else in "raw_base64", so that nothing is
 * lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/job.h"
#include "pipeline/render.h"

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
    const char *path = plan->source->files.paths[file];

    leat_text_add(text, "{\"file\": ");
    leat_text_add_json(text, path, strlen(path));
    leat_text_add(text, ", \"line\": %llu, \"offset\": %llu, \"stage\": \"%s\"",
                  (unsigned long long)bad->line, (unsigned long long)bad->offset,
                  bad->stage ? bad->stage : plan->source_ops->name);
    if (bad->field) {
        leat_text_add(text, ", \"field\": ");
        leat_text_add_json(text, bad->field, strlen(bad->field));
    }
    leat_text_add(text, ", \"reason\": ");
    leat_text_add_json(text, bad->message, strlen(bad->message));
    if (leat_text_is_utf8(bad->bytes, bad->n_bytes)) {
        leat_text_add(text, ", \"raw\": ");
        leat_text_add_json(text, bad->bytes, bad->n_bytes);
    } else {
        leat_text_add(text, ", \"raw_base64\": \"");
        add_base64(text, bad->bytes, bad->n_bytes);
        leat_text_add(text, "\"");
    }
    leat_text_add(text, "}\n");
}

int leat_quarantine_execute(const struct leat_quarantine_job *job, struct leat_error *err) {
    int flags =
        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (job->truncates ? O_TRUNC : 0);
    int fd = open(job->path, flags, 0640);
    size_t n_written = 0;
    int r = 0;

    if (fd < 0)
        return leat_error_set(err, -errno, "%s: cannot write bad records: %s", job->path,
                              strerror(errno));
    while (r == 0 && n_written < job->n_bytes) {
        ssize_t n = write(fd, job->text + n_written, job->n_bytes - n_written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = leat_error_set(err, -errno, "%s: cannot write bad records: %s", job->path,
                               strerror(errno));
        else
            n_written += (size_t)n;
    }
    (void)close(fd);
    return r;
}
