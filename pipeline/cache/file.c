#include "pipeline/cache/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proto/base/array.h"
#include "proto/base/file.h"
#include "proto/base/xxh3.h"

#define MAGIC       UINT64_C(0x454843434154454c) /* "LEATCCHE" */
#define FIRST_BYTES 4096                         /* of an object: the head, mostly */
#define LAST_BYTES  65536                        /* index and footer, mostly */
#define MAGIC_END   UINT64_C(0x444e45544145434c) /* "LCEATEND" */

struct disk_head {
    uint64_t magic;
    uint32_t version, description_bytes; /* with zeros, a multiple of 8 */
    struct leat_cache_identity identity;
    uint64_t checksum; /* of all before, and of the description behind */
};

struct disk_footer {
    uint64_t magic, n_frames, n_records, n_rows, index_position, index_checksum;
    uint64_t checksum; /* of all before, seeded */
};

_Static_assert(sizeof(struct disk_head) == 128, "no gaps");
_Static_assert(sizeof(struct disk_footer) == 56, "no gaps");

/* ---- bytes in and out ---- */

static int read_all(int fd, uint64_t position, void *bytes, size_t n_bytes,
                    struct leat_error *err) {
    ssize_t n = leat_file_read(fd, bytes, n_bytes, position);

    if (n < 0)
        return leat_error_set(err, (int)n, "cannot read: %s", strerror((int)-n));
    if ((size_t)n < n_bytes)
        return leat_error_set(err, -EBADMSG, "the file ends too early, at byte %llu",
                              (unsigned long long)position + (unsigned long long)n);
    return 0;
}

static int write_failed(int code, struct leat_error *err) {
    return leat_error_set(err, code, "cannot write: %s", strerror(-code));
}

static int write_all(int fd, uint64_t position, const void *bytes, size_t n_bytes,
                     struct leat_error *err) {
    int r = leat_file_write(fd, bytes, n_bytes, position);

    return r < 0 ? write_failed(r, err) : 0;
}

/* ---- life ---- */

static uint64_t seed_of(const struct leat_cache_identity *identity) {
    return XXH3_64bits(identity, sizeof(*identity));
}

static struct leat_cache_file *file_alloc(int take_fd) {
    struct leat_cache_file *file = calloc(1, sizeof(*file));

    if (!file) {
        (void)close(take_fd);
        return NULL;
    }
    file->fd = take_fd;
    file->n_refs = 1;
    return file;
}

struct leat_cache_file *leat_cache_file_ref(struct leat_cache_file *file) {
    file->n_refs++;
    return file;
}

struct leat_cache_file *leat_cache_file_unref(struct leat_cache_file *file) {
    if (!file || --file->n_refs > 0)
        return NULL;
    for (size_t i = 0; i < file->n_parts; i++)
        leat_cache_file_unref(file->parts[i].file);
    free(file->parts);
    leat_file_close(&file->fd);
    leat_object_close(file->object);
    if (file->temporary)
        (void)unlink(file->temporary);
    free(file->temporary);
    free(file->description);
    free(file->frames);
    free(file);
    return NULL;
}

/* ---- both ends ---- */

/* Those of an object, each of which came by one request. */
struct ends {
    uint64_t n_bytes; /* of the object */
    size_t n_first, n_last;
    uint8_t *first, *last;
};

static int read_end(const struct leat_cache_file *file, const struct ends *ends, uint64_t position,
                    void *bytes, size_t n_bytes, struct leat_error *err) {
    if (!file->object)
        return read_all(file->fd, position, bytes, n_bytes, err);
    if (position <= ends->n_first && n_bytes <= ends->n_first - position) {
        memcpy(bytes, ends->first + position, n_bytes);
        return 0;
    }
    if (position >= ends->n_bytes - ends->n_last && position <= ends->n_bytes &&
        n_bytes <= ends->n_bytes - position) {
        memcpy(bytes, ends->last + (position - (ends->n_bytes - ends->n_last)), n_bytes);
        return 0;
    }
    return leat_object_read_part(file->object, bytes, n_bytes, position, err);
}

static void measure_ends(const struct leat_object *object, uint64_t n_frames, struct ends *ends) {
    struct leat_file_state state;
    uint64_t n_last = n_frames > 0 ? n_frames * LEAT_CACHE_FRAME_HEAD_BYTES : LAST_BYTES;

    leat_object_state(object, &state);
    n_last += sizeof(struct disk_footer);
    *ends = (struct ends){.n_bytes = state.n_bytes};
    ends->n_first = state.n_bytes < FIRST_BYTES ? state.n_bytes : FIRST_BYTES;
    ends->n_last = state.n_bytes < n_last ? state.n_bytes : n_last;
}

void leat_cache_file_read_ahead(struct leat_object *object, uint64_t n_frames) {
    struct ends ends;

    measure_ends(object, n_frames, &ends);
    if (ends.n_bytes == 0)
        return;
    leat_object_read_ahead(object, ends.n_first, 0);
    leat_object_read_ahead(object, ends.n_last, ends.n_bytes - ends.n_last);
}

/* ---- the head ---- */

static uint64_t head_checksum(const struct disk_head *head, const char *description) {
    uint64_t first = XXH3_64bits(head, offsetof(struct disk_head, checksum));

    return XXH3_64bits_withSeed(description, head->description_bytes, first);
}

static int write_head(struct leat_cache_file *file, struct leat_error *err) {
    size_t n = strnlen(file->description, LEAT_CACHE_DESCRIPTION_MAX_BYTES - 8) + 1;
    struct disk_head head = {.magic = MAGIC,
                             .version = LEAT_CACHE_VERSION,
                             .description_bytes = (uint32_t)((n + 7) / 8 * 8),
                             .identity = file->identity};
    char *padded = calloc(1, head.description_bytes);
    int r;

    if (!padded)
        return leat_error_oom(err);
    memcpy(padded, file->description, n - 1);
    head.checksum = head_checksum(&head, padded);
    file->end = sizeof(head) + head.description_bytes;
    r = write_all(file->fd, 0, &head, sizeof(head), err);
    if (r == 0)
        r = write_all(file->fd, sizeof(head), padded, head.description_bytes, err);
    free(padded);
    return r;
}

int leat_cache_file_new(int take_fd, const struct leat_cache_identity *identity,
                        const char *description, struct leat_cache_file **ret_file,
                        struct leat_error *err) {
    struct leat_cache_file *file = file_alloc(take_fd);
    int r;

    if (!file)
        return leat_error_oom(err);
    file->identity = *identity;
    file->seed = seed_of(identity);
    file->description = strdup(description);
    r = file->description ? write_head(file, err) : leat_error_oom(err);
    if (r < 0) {
        leat_cache_file_unref(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

static int read_head(struct leat_cache_file *file, const struct ends *ends,
                     struct leat_error *err) {
    struct disk_head head;
    int r = read_end(file, ends, 0, &head, sizeof(head), err);

    if (r < 0)
        return r;
    if (head.magic != MAGIC || head.version != LEAT_CACHE_VERSION)
        return leat_error_set(err, -EBADMSG,
                              "this file is not a cache, or another version of leat wrote it");
    if (head.description_bytes == 0 || head.description_bytes > LEAT_CACHE_DESCRIPTION_MAX_BYTES)
        return leat_error_set(err, -EBADMSG, "the header of the file is damaged");
    file->description = malloc(head.description_bytes);
    if (!file->description)
        return leat_error_oom(err);
    r = read_end(file, ends, sizeof(head), file->description, head.description_bytes, err);
    if (r < 0)
        return r;
    if (head.checksum != head_checksum(&head, file->description) ||
        file->description[head.description_bytes - 1] != '\0')
        return leat_error_set(err, -EBADMSG, "the header of the file is damaged");
    file->identity = head.identity;
    file->seed = seed_of(&head.identity);
    file->end = sizeof(head) + head.description_bytes;
    return 0;
}

/* ---- frames ---- */

void leat_cache_file_place(const struct leat_cache_file *file, struct leat_cache_frame *frame) {
    frame->position = file->end;
    frame->record = file->n_records;
}

int leat_cache_file_add(struct leat_cache_file *file, const struct leat_cache_frame *frame) {
    if (!leat_array_reserve(&file->frames, file->n_frames + 1, &file->capacity))
        return -ENOMEM;
    file->frames[file->n_frames++] = *frame;
    file->end += leat_cache_frame_size(frame);
    file->n_records += frame->span.n_records;
    file->n_rows += frame->n_rows;
    return 0;
}

int leat_cache_file_write(int fd, uint64_t seed, const struct leat_cache_frame *frame,
                          const uint8_t *stored, struct leat_error *err) {
    uint8_t head[LEAT_CACHE_FRAME_HEAD_BYTES];
    size_t n_bytes = (size_t)leat_cache_frame_size(frame);
    struct iovec parts[] = {{head, sizeof(head)},
                            {(void *)(uintptr_t)stored, n_bytes - sizeof(head)}};
    size_t n_written;
    ssize_t n;
    int r = 0;

    leat_cache_frame_pack(frame, seed, head);
    do
        n = pwritev(fd, parts, 2, (off_t)frame->position);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return write_failed(-errno, err);
    n_written = (size_t)n;
    if (n_written < sizeof(head)) {
        r = write_all(fd, frame->position + n_written, head + n_written, sizeof(head) - n_written,
                      err);
        n_written = sizeof(head);
    }
    return r < 0 ? r
                 : write_all(fd, frame->position + n_written, stored + n_written - sizeof(head),
                             n_bytes - n_written, err);
}

static int fail_checksum(const struct leat_cache_frame *frame, struct leat_error *err) {
    return leat_error_set(err, -EBADMSG,
                          "the block at byte %llu is damaged: it does not match its checksum",
                          (unsigned long long)frame->position);
}

int leat_cache_file_read(int fd, const struct leat_cache_frame *frame, uint8_t *ret_stored,
                         struct leat_error *err) {
    int r = read_all(fd, frame->position + LEAT_CACHE_FRAME_HEAD_BYTES, ret_stored, frame->n_stored,
                     err);

    if (r == 0 && !leat_cache_frame_is_whole(frame, ret_stored))
        r = fail_checksum(frame, err);
    return r;
}

/* Reads through the blocks that leat-fetch has of the object. */
static int read_among_others(struct leat_object *object, const struct leat_cache_frame *frame,
                             uint8_t *stored, struct leat_error *err) {
    uint64_t position = frame->position + LEAT_CACHE_FRAME_HEAD_BYTES;
    size_t at = 0, n = 1;
    int r = 0;

    while (r == 0 && n > 0 && at < frame->n_stored) {
        r = leat_object_read(object, stored + at, frame->n_stored - at, position + at, &n, err);
        at += n;
    }
    return r == 0 && at < frame->n_stored
               ? leat_error_set(err, -EBADMSG, "the file ends too early, at byte %llu",
                                (unsigned long long)(position + at))
               : r;
}

/* A frame that seems to be damaged is read again, in case that only its copy on the local disk is:
 * then that is looked through, and fetched again. */
int leat_cache_file_read_object(const struct leat_object *object, bool is_alone,
                                const struct leat_cache_frame *frame, uint8_t *ret_stored,
                                struct leat_error *err) {
    bool is_whole = false;
    int r = 0;

    for (int i = 0; r == 0 && !is_whole && i < 2; i++) {
        struct leat_object *mine = leat_object_dup(object, i == 0);

        if (!mine)
            return leat_error_oom(err);
        r = is_alone ? leat_object_read_part(mine, ret_stored, frame->n_stored,
                                             frame->position + LEAT_CACHE_FRAME_HEAD_BYTES, err)
                     : read_among_others(mine, frame, ret_stored, err);
        leat_object_close(mine);
        is_whole = r == 0 && leat_cache_frame_is_whole(frame, ret_stored);
    }
    return r == 0 && !is_whole ? fail_checksum(frame, err) : r;
}

/* True if that frame can be the next: it follows in the source, too. */
static bool is_next(const struct leat_cache_file *file, const struct leat_cache_frame *frame) {
    const struct leat_cache_span *last;

    if (frame->record != file->n_records)
        return false;
    if (file->n_frames == 0)
        return true;
    last = &file->frames[file->n_frames - 1].span;
    return frame->span.file > last->file ||
           (frame->span.file == last->file && frame->span.offset >= last->offset + last->n_bytes &&
            frame->span.line >= last->line + last->n_lines);
}

static int add_packed(struct leat_cache_file *file, const uint8_t *head, uint64_t limit,
                      struct leat_error *err) {
    struct leat_cache_frame frame;

    if (!leat_cache_frame_unpack(head, file->seed, file->end, &frame) || !is_next(file, &frame) ||
        frame.position + leat_cache_frame_size(&frame) > limit)
        return leat_error_set(err, -EBADMSG, "there is no block at byte %llu",
                              (unsigned long long)file->end);
    return leat_cache_file_add(file, &frame) < 0 ? leat_error_oom(err) : 0;
}

/* ---- complete files ---- */

static uint64_t footer_checksum(const struct disk_footer *footer, uint64_t seed) {
    return XXH3_64bits_withSeed(footer, offsetof(struct disk_footer, checksum), seed);
}

/* 0; -EBADMSG: there is none that is right. */
static int read_footer(const struct leat_cache_file *file, const struct ends *ends,
                       uint64_t n_bytes, struct disk_footer *ret_footer, struct leat_error *err) {
    uint64_t n_index;
    int r;

    if (n_bytes < file->end + sizeof(*ret_footer))
        return leat_error_set(err, -EBADMSG, "the file has no footer");
    r = read_end(file, ends, n_bytes - sizeof(*ret_footer), ret_footer, sizeof(*ret_footer), err);
    if (r < 0)
        return r;
    if (ret_footer->magic != MAGIC_END ||
        ret_footer->checksum != footer_checksum(ret_footer, file->seed) ||
        __builtin_mul_overflow(ret_footer->n_frames, (uint64_t)LEAT_CACHE_FRAME_HEAD_BYTES,
                               &n_index) ||
        n_index > n_bytes || ret_footer->index_position != n_bytes - sizeof(*ret_footer) - n_index)
        return leat_error_set(err, -EBADMSG, "the file has no footer");
    return 0;
}

static int read_index(struct leat_cache_file *file, const struct ends *ends,
                      const struct disk_footer *footer, struct leat_error *err) {
    size_t n_bytes = (size_t)footer->n_frames * LEAT_CACHE_FRAME_HEAD_BYTES;
    uint8_t *heads = malloc(n_bytes ? n_bytes : 1);
    int r;

    if (!heads)
        return leat_error_oom(err);
    r = read_end(file, ends, footer->index_position, heads, n_bytes, err);
    if (r == 0 && XXH3_64bits(heads, n_bytes) != footer->index_checksum)
        r = leat_error_set(err, -EBADMSG, "the file's index is damaged");
    for (size_t i = 0; r == 0 && i < footer->n_frames; i++)
        r = add_packed(file, heads + i * LEAT_CACHE_FRAME_HEAD_BYTES, footer->index_position, err);
    if (r == 0 && (file->end != footer->index_position || file->n_records != footer->n_records ||
                   file->n_rows != footer->n_rows))
        r = leat_error_set(err, -EBADMSG, "the file's index does not match its blocks");
    free(heads);
    file->is_complete = r == 0;
    return r;
}

int leat_cache_file_finish(const struct leat_cache_file *file, struct leat_error *err) {
    size_t n_index = file->n_frames * LEAT_CACHE_FRAME_HEAD_BYTES;
    struct disk_footer footer = {.magic = MAGIC_END,
                                 .n_frames = file->n_frames,
                                 .n_records = file->n_records,
                                 .n_rows = file->n_rows,
                                 .index_position = file->end};
    uint8_t *bytes = malloc(n_index + sizeof(footer));
    int r;

    if (!bytes)
        return leat_error_oom(err);
    for (size_t i = 0; i < file->n_frames; i++)
        leat_cache_frame_pack(&file->frames[i], file->seed,
                              bytes + i * LEAT_CACHE_FRAME_HEAD_BYTES);
    footer.index_checksum = XXH3_64bits(bytes, n_index);
    footer.checksum = footer_checksum(&footer, file->seed);
    memcpy(bytes + n_index, &footer, sizeof(footer));
    r = write_all(file->fd, file->end, bytes, n_index + sizeof(footer), err);
    free(bytes);
    if (r == 0 && ftruncate(file->fd, (off_t)(file->end + n_index + sizeof(footer))) < 0)
        r = write_failed(-errno, err);
    if (r == 0 && !file->is_cheap && fsync(file->fd) < 0)
        r = write_failed(-errno, err);
    return r;
}

/* ---- files that are not complete ---- */

static void forget_frames(struct leat_cache_file *file) {
    if (file->n_frames > 0)
        file->end = file->frames[0].position;
    file->n_frames = 0;
    file->n_records = file->n_rows = 0;
    file->is_complete = false;
}

static void forget_last(struct leat_cache_file *file) {
    const struct leat_cache_frame *last = &file->frames[--file->n_frames];

    file->end = last->position;
    file->n_records -= last->span.n_records;
    file->n_rows -= last->n_rows;
}

/* The last frames may have been cut, or not have reached the disk. */
static int drop_damaged_tail(struct leat_cache_file *file, struct leat_error *err) {
    uint8_t *stored = NULL;
    size_t capacity = 0;
    int r = -EBADMSG;

    while (r == -EBADMSG && file->n_frames > 0) {
        const struct leat_cache_frame *last = &file->frames[file->n_frames - 1];

        if (!leat_array_reserve(&stored, last->n_stored + 1, &capacity)) {
            free(stored);
            return leat_error_oom(err);
        }
        r = leat_cache_file_read(file->fd, last, stored, LEAT_ERROR_IGNORED);
        if (r == -EBADMSG)
            forget_last(file);
    }
    free(stored);
    return r == -EBADMSG ? 0 : r;
}

static int walk_frames(struct leat_cache_file *file, uint64_t n_bytes, struct leat_error *err) {
    uint8_t head[LEAT_CACHE_FRAME_HEAD_BYTES];
    int r = 0;

    while (r == 0 && n_bytes > file->end && n_bytes - file->end >= sizeof(head)) {
        r = read_all(file->fd, file->end, head, sizeof(head), LEAT_ERROR_IGNORED);
        if (r == 0)
            r = add_packed(file, head, n_bytes, LEAT_ERROR_IGNORED);
    }
    if (r == 0 || r == -EBADMSG)
        r = drop_damaged_tail(file, err);
    file->n_dropped = n_bytes > file->end ? n_bytes - file->end : 0;
    return r < 0 ? leat_error_set(err, r, "cannot read: %s", strerror(-r)) : 0;
}

static int read_frames(struct leat_cache_file *file, struct leat_error *err) {
    struct disk_footer footer;
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct stat info;
    uint64_t n_bytes;
    int r;

    if (fstat(file->fd, &info) < 0)
        return leat_error_set(err, -errno, "cannot read: %s", strerror(errno));
    n_bytes = (uint64_t)info.st_size;
    r = read_footer(file, NULL, n_bytes, &footer, &ignored);
    if (r == 0)
        r = read_index(file, NULL, &footer, &ignored);
    if (r != -EBADMSG) {
        if (r < 0)
            *err = ignored;
        return r;
    }
    forget_frames(file);
    return walk_frames(file, n_bytes, err);
}

int leat_cache_file_open(int take_fd, struct leat_cache_file **ret_file, struct leat_error *err) {
    struct leat_cache_file *file = file_alloc(take_fd);
    int r;

    if (!file)
        return leat_error_oom(err);
    r = read_head(file, NULL, err);
    if (r == 0)
        r = read_frames(file, err);
    if (r < 0) {
        leat_cache_file_unref(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

static int read_object(struct leat_cache_file *file, struct ends *ends, struct leat_error *err) {
    struct disk_footer footer;
    int r;

    ends->first = malloc(ends->n_first + 1);
    ends->last = malloc(ends->n_last + 1);
    if (!ends->first || !ends->last)
        return leat_error_oom(err);
    r = leat_object_read_part(file->object, ends->first, ends->n_first, 0, err);
    if (r == 0)
        r = leat_object_read_part(file->object, ends->last, ends->n_last,
                                  ends->n_bytes - ends->n_last, err);
    if (r == 0)
        r = read_head(file, ends, err);
    if (r == 0)
        r = read_footer(file, ends, ends->n_bytes, &footer, err);
    return r < 0 ? r : read_index(file, ends, &footer, err);
}

int leat_cache_file_open_object(struct leat_object *take_object, uint64_t n_frames,
                                struct leat_cache_file **ret_file, struct leat_error *err) {
    struct leat_cache_file *file = file_alloc(-1);
    struct ends ends;
    int r;

    if (!file) {
        leat_object_close(take_object);
        return leat_error_oom(err);
    }
    file->object = take_object;
    measure_ends(take_object, n_frames, &ends);
    r = read_object(file, &ends, err);
    leat_object_rest(take_object);
    free(ends.first);
    free(ends.last);
    if (r < 0) {
        leat_cache_file_unref(file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int leat_cache_file_trim(struct leat_cache_file *file, struct leat_error *err) {
    if (ftruncate(file->fd, (off_t)file->end) < 0)
        return write_failed(-errno, err);
    file->n_dropped = 0;
    return 0;
}

int leat_cache_file_clear(struct leat_cache_file *file, struct leat_error *err) {
    if (file->n_frames == 0)
        return 0;
    forget_frames(file);
    return leat_cache_file_trim(file, err);
}

struct leat_cache_file *leat_cache_file_new_whole(const struct leat_cache_identity *identity) {
    struct leat_cache_file *file = file_alloc(-1);

    if (!file)
        return NULL;
    file->identity = *identity;
    file->description = strdup("{}");
    file->is_complete = true;
    return file->description ? file : leat_cache_file_unref(file);
}

int leat_cache_file_add_part(struct leat_cache_file *whole, struct leat_cache_file *take_part,
                             struct leat_error *err) {
    size_t capacity = whole->n_parts;
    int r = 0;

    if (!leat_array_reserve(&whole->parts, whole->n_parts + 1, &capacity)) {
        leat_cache_file_unref(take_part);
        return leat_error_oom(err);
    }
    for (size_t i = 0; r == 0 && i < take_part->n_frames; i++) {
        struct leat_cache_frame frame = take_part->frames[i];

        frame.record = whole->n_records;
        if (!is_next(whole, &frame))
            r = leat_error_set(err, -EBADMSG,
                               "the block at byte %llu does not continue the previous block",
                               (unsigned long long)frame.position);
        else if (leat_cache_file_add(whole, &frame) < 0)
            r = leat_error_oom(err);
    }
    whole->parts[whole->n_parts++] =
        (struct leat_cache_part){.file = take_part, .end_record = whole->n_records};
    return r;
}

const struct leat_cache_file *leat_cache_file_part(const struct leat_cache_file *file,
                                                   const struct leat_cache_frame *frame) {
    size_t low = 0, high = file->n_parts;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (frame->record < file->parts[middle].end_record)
            high = middle;
        else
            low = middle + 1;
    }
    return low < file->n_parts ? file->parts[low].file : file;
}

const struct leat_cache_frame *leat_cache_file_find(const struct leat_cache_file *file,
                                                    uint64_t record) {
    size_t low = 0, high = file->n_frames;

    if (record >= file->n_records)
        return NULL;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (file->frames[middle].record <= record)
            low = middle;
        else
            high = middle;
    }
    return &file->frames[low];
}
