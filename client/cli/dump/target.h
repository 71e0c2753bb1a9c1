/* target.h: where `leatctl dump` puts batches: lines on the standard output or in one file,
 * one batch in a file, or a file for each in a folder. Owner: the one thread.
 */
#pragma once

#include "client/cli/base/arguments.h"
#include "client/save/save.h"

enum leat_cli_dump_kind {
    LEAT_CLI_DUMP_PRINTED, /* JSONL, as it comes */
    LEAT_CLI_DUMP_LINES,   /* JSONL of all batches; there when all are */
    LEAT_CLI_DUMP_SINGLE,  /* the one batch */
    LEAT_CLI_DUMP_FOLDER,  /* epoch-0000-step-00000017.npz */
};

struct leat_cli_dump_target {
    enum leat_cli_dump_kind kind;
    const char *path;
    struct leat_save_options options;
    struct leat_saved_file *file; /* of lines; NULL: not open */
    bool has_made_folder;
    uint64_t n_batches, n_rows, n_bytes;
};

/* What -o, --format and --compress say. LEAT_CLI_OK or LEAT_CLI_USAGE. */
int leat_cli_dump_target_init(struct leat_cli_dump_target *target,
                              const struct leat_cli_arguments *arguments, struct leat_error *err);
/* Makes the folder or the file. 0 or -errno. */
int leat_cli_dump_target_open(struct leat_cli_dump_target *target, struct leat_error *err);
/* 0; 1: nobody reads what is printed any more; -errno. */
int leat_cli_dump_target_put(struct leat_cli_dump_target *target, struct leat_batch *batch,
                             struct leat_error *err);
/* r: what came of it so far. Files of single batches stay if it is a failure; one of lines does
 * not. Accepts what was never opened. r or -errno. */
int leat_cli_dump_target_close(struct leat_cli_dump_target *target, int r, struct leat_error *err);
