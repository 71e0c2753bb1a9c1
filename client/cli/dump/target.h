/* target.h: where `leatctl dump` writes batches: lines on the standard output or in a file, one
 * batch in a file, or a file for each batch in a folder. Owner: the one thread. */
#pragma once

#include "client/cli/base/arguments.h"
#include "client/save/save.h"

enum leat_cli_dump_kind {
    LEAT_CLI_DUMP_PRINTED, /* JSONL on the standard output */
    LEAT_CLI_DUMP_LINES,   /* JSONL of all batches in a file, which appears at the end */
    LEAT_CLI_DUMP_SINGLE,  /* one batch in a file */
    LEAT_CLI_DUMP_FOLDER,  /* epoch-0000-step-00000017.npz */
};

struct leat_cli_dump_target {
    enum leat_cli_dump_kind kind;
    const char *path;
    struct leat_save_options options;
    struct leat_saved_file *file; /* for lines; NULL: not open */
    bool has_made_folder;
    uint64_t n_batches, n_rows, n_bytes;
};

/* Reads -o, --format and --compress. LEAT_CLI_OK or LEAT_CLI_USAGE. */
int leat_cli_dump_target_init(struct leat_cli_dump_target *target,
                              const struct leat_cli_arguments *arguments, struct leat_error *err);
/* Makes the folder or the file. 0 or -errno. */
int leat_cli_dump_target_open(struct leat_cli_dump_target *target, struct leat_error *err);
/* 0; 1: the output has no reader any more; -errno. */
int leat_cli_dump_target_put(struct leat_cli_dump_target *target, struct leat_batch *batch,
                             struct leat_error *err);
/* r: the result so far. If it is a failure, a file of lines is dropped; files of single batches
 * stay. Accepts a target that was never opened. r or -errno. */
int leat_cli_dump_target_close(struct leat_cli_dump_target *target, int r, struct leat_error *err);
