/* source.c: what all sources have in common: a list of files. */
#include <stdlib.h>

#include "pipeline/stage.h"

int leat_source_load(struct leat_config *config, const struct leat_opener *opener,
                     struct leat_error *err) {
    struct leat_source_config *self = (struct leat_source_config *)config;
    char *directory = config->file ? leat_files_directory(config->file) : NULL;
    int r;

    if (config->file && !directory)
        return leat_error_oom(err);
    r = leat_files_expand(&self->files, (const char *const *)self->paths.items, self->paths.n_items,
                          directory, opener, err);
    free(directory);
    if (r == 0 && self->files.n_paths == 0)
        r = leat_config_error(config, "paths", err, "no file matches");
    return r;
}
