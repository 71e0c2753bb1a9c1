/* save.h: a batch as a file: safetensors, .npz, JSONL.
 *
 * Each writer turns a checked view into bytes of a leat_saved_file, which keeps the first failure
 * to write. The bytes depend on the batch alone: the same batch makes the same file. One thread.
 */
#pragma once

#include "client/leat.h"
#include "client/save/saved_file.h"
#include "client/transport/view.h"

/* A batch that is saved, with what its slot does not contain. */
struct leat_saving {
    const struct leat_view *view;
    uint64_t batch_size; /* of its stream; 1 also if the stream has no stage `batch` */
    int compression;     /* of .npz: 0, or zlib's level */
};

/* The given format or, with LEAT_SAVE_BY_NAME, that of the path's ending. -EINVAL: there is none.
 */
int leat_save_format_of(const char *path, int32_t format, enum leat_save_format *ret_format,
                        struct leat_error *err);
/* ".npz" */
const char *leat_save_ending(enum leat_save_format format);

/* The bytes of that batch without compression. */
struct leat_saving leat_saving_of(const struct leat_batch *batch);

/* Checks names, then writes. 0 or -errno; failures of the file are returned when it is committed.
 */
int leat_save_write(const struct leat_saving *saving, enum leat_save_format format,
                    struct leat_saved_file *file, struct leat_error *err);

/* The writers. Names must be UTF-8 and unique. */
int leat_save_safetensors(const struct leat_saving *saving, struct leat_saved_file *file,
                          struct leat_error *err);
int leat_save_npz(const struct leat_saving *saving, struct leat_saved_file *file,
                  struct leat_error *err);
int leat_save_jsonl(const struct leat_saving *saving, struct leat_saved_file *file,
                    struct leat_error *err);
