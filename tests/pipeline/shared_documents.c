/* shared_documents.c: see shared_documents.h. */
#include "tests/pipeline/shared_documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_records.h"

uint32_t document_length(size_t document, uint32_t longest) {
    uint64_t hash = leat_rng_fold(17, document);
    uint32_t most = longest;

    while (most > 1 && hash % 3 > 0) { /* halves again and again: most are short */
        most = (most + 1) / 2;
        hash /= 3;
    }
    return (uint32_t)(leat_rng_fold(18, document) % (most + 1));
}

void write_documents(size_t n, uint32_t longest) {
    struct leat_text text = {.data = NULL};

    for (size_t i = 0; i < n; i++) {
        uint32_t length = document_length(i, longest);

        leat_text_add(&text, "{\"id\": %zu", i);
        for (int list = 0; list < 2; list++) {
            leat_text_add(&text, list ? ", \"also\": [" : ", \"ids\": [");
            for (uint32_t k = 0; k < length; k++)
                leat_text_add(&text, "%s%s%zu", k ? ", " : "", list ? "-" : "",
                              i * DOCUMENT_STRIDE + k);
            leat_text_add(&text, "]");
        }
        leat_text_add(&text, "}\n");
    }
    folder_write("docs.jsonl", text.data, text.n_bytes);
    free(text.data);
}

static struct driven run(const char *source, const char *options, const char *stages,
                         const struct leat_run_options *run_options, struct drive how) {
    uint32_t max_map_jobs = how.options.max_map_jobs;

    how.options = *run_options;
    how.options.max_map_jobs = max_map_jobs;
    return drive_stream(source, options, stages, &how);
}

void check_one_sequence(const char *source, const char *stages) {
    static const struct leat_run_options ways[] = {
        {.n_epochs = 2},
        {.n_epochs = 2, .first_epoch = 1, .first_step = 2, .first_rank = 1, .world_size = 2},
        {.n_epochs = 0, .n_steps = 30},
        {.n_epochs = 1, .has_seed = true, .seed = 99},
    };
    struct drive threads = {
        .options = {.max_map_jobs = 10}, .n_jobs = 8, .in_threads = true, .n_slots = 16};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct driven first = run(source, "", stages, &ways[i], (struct drive){.n_jobs = 1});

        if (first.error.code)
            fail_msg("%s\n%s", first.error.message, stages);
        for (int k = 0; k < 3; k++) {
            struct drive how = k == 2 ? threads : random_drive();
            struct driven other = run(source, block_option(), stages, &ways[i], how);

            assert_string_equal(other.error.message, "");
            assert_string_equal(other.digest, first.digest);
        }
    }
}
