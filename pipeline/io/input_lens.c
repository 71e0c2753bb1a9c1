/* input_lens.c: an input that is another one, seen through a lens. See input.h. */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/io/input_internal.h"

int leat_input_put_lens(struct leat_input *take_file, const struct leat_lens_ops *ops,
                        void *take_lens, struct leat_input **ret_input, struct leat_error *err) {
    struct leat_input *input = calloc(1, sizeof(*input));

    if (!input) {
        ops->free(take_lens);
        leat_input_close(take_file);
        return leat_error_oom(err);
    }
    *input = (struct leat_input){
        .fd = -1,
        .is_one_pass = take_file->is_one_pass,
        .is_known = true,
        .limits = take_file->limits,
        .file_bytes = take_file->file_bytes,
        .lens_ops = ops,
        .lens = take_lens,
        .file = take_file,
    };
    *ret_input = input;
    return 0;
}

bool leat_input_has_lens(const struct leat_input *input) {
    return input->lens != NULL;
}

uint64_t leat_input_cross(struct leat_input *input) {
    return input->lens_ops->cross(input->lens);
}

int leat_input_read_at(struct leat_input *input, uint64_t offset, void *data, size_t n,
                       struct leat_error *err) {
    size_t n_done = 0;

    while (n_done < n) {
        size_t n_read;
        int r = leat_input_read_file(input, (uint8_t *)data + n_done, n - n_done, offset + n_done,
                                     &n_read, err);

        if (r < 0)
            return r;
        if (n_read == 0)
            return leat_error_set(err, -EBADMSG, "the file is cut short: it ends at byte %llu",
                                  (unsigned long long)(offset + n_done));
        n_done += n_read;
    }
    return 0;
}
