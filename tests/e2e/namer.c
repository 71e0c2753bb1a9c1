/* namer: a trainer that names files itself.
 *
 *     namer < PATHS
 *
 * Opens a stream of the CSV files of each line at $LEAT_SOCKET, and prints a line for it: the sum
 * of its numbers `id`, or what the daemon said against it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/leat.h"

static int describe(struct leat_builder *builder, const char *path) {
    leat_builder_source(builder, "csv");
    leat_builder_texts(builder, "paths", &path, 1);
    leat_builder_stage(builder, "cast");
    leat_builder_text(builder, "input", "id");
    leat_builder_text(builder, "dtype", "int64");
    leat_builder_stage(builder, "select");
    leat_builder_list(builder, "fields");
    leat_builder_text(builder, NULL, "id");
    leat_builder_end(builder);
    leat_builder_stage(builder, "batch");
    return leat_builder_int(builder, "batch_size", 1);
}

static int add_up(struct leat_stream *stream, int64_t *ret_sum) {
    struct leat_batch *batch;
    int r;

    *ret_sum = 0;
    while ((r = leat_stream_next(stream, -1, &batch)) == 0) {
        int64_t id;

        memcpy(&id, leat_batch_find(batch, "id")->data, sizeof(id));
        *ret_sum += id;
        leat_batch_release(batch);
    }
    return r == LEAT_END_EPOCH ? 0 : -1;
}

static void name(struct leat_client *client, const char *path) {
    struct leat_open_options options;
    struct leat_builder *builder = NULL;
    struct leat_stream *stream = NULL;
    int64_t sum;

    leat_open_options_init(&options);
    if (leat_builder_new("named", &builder) < 0 || describe(builder, path) < 0)
        printf("%s\n", leat_error_text(leat_builder_error(builder)));
    else if (leat_client_open_built(client, builder, &options, &stream) < 0)
        printf("%s\n", leat_error_text(leat_client_error(client)));
    else if (add_up(stream, &sum) < 0)
        printf("%s\n", leat_error_text(leat_stream_error(stream)));
    else
        printf("%" PRId64 "\n", sum);
    leat_stream_close(stream);
    leat_builder_free(builder);
}

int main(void) {
    struct leat_client *client = NULL;
    char line[8192];

    if (leat_client_new(NULL, &client) < 0)
        return 1;
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        name(client, line);
    }
    leat_client_free(client);
    return 0;
}
