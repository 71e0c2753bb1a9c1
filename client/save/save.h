/* save.h: a batch as a file: safetensors, .npz, JSONL.
 *
 * Each writer turns a checked view into bytes of a leat_saved_file, which keeps what goes wrong
 * there. The bytes follow from the batch alone: the same batch makes the same file. Owner: the one
 * thread.
 */
#pragma once

#include "client/leat.h"
#include "client/save/saved_file.h"
#include "client/transport/view.h"

/* What is not in a batch's slot. */
struct leat_saving {
    const struct leat_view *view;
    uint64_t batch_size; /* of its stream: 1 may mean that it has no `batch` */
    int compression;     /* of .npz: 0, or zlib's level */
};

/* The format of that name or, with LEAT_SAVE_BY_NAME, of the path's ending. -EINVAL: none. */
int leat_save_format_of(const char *path, int32_t format, enum leat_save_format *ret_format,
                        struct leat_error *err);
/* ".npz" */
const char *leat_save_ending(enum leat_save_format format);

/* That batch, not compressed. */
struct leat_saving leat_saving_of(const struct leat_batch *batch);

/* Checks names, then writes. 0 or -errno; what the file ran into is told when it is committed. */
int leat_save_write(const struct leat_saving *saving, enum leat_save_format format,
                    struct leat_saved_file *file, struct leat_error *err);

/* The writers. Names are UTF-8, and none comes twice. */
int leat_save_safetensors(const struct leat_saving *saving, struct leat_saved_file *file,
                          struct leat_error *err);
int leat_save_npz(const struct leat_saving *saving, struct leat_saved_file *file,
                  struct leat_error *err);
int leat_save_jsonl(const struct leat_saving *saving, struct leat_saved_file *file,
                    struct leat_error *err);
