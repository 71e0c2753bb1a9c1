#include "pipeline/cache/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/json_writer.h"

#define DESCRIBED_PATHS  16 /* the others are counted */
#define DESCRIPTION_ROOM (48U << 10)

static void make_key(const struct leat_data *data, struct leat_cache_identity *identity) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, "leat cache 1");
    leat_blake2b_update(&state, identity->spec, sizeof(identity->spec));
    leat_blake2b_update(&state, identity->data, sizeof(identity->data));
    for (size_t i = 0; i < data->n_files; i++) {
        leat_blake2b_u64(&state, data->states[i].inode);
        leat_blake2b_u64(&state, (uint64_t)data->states[i].modified_ns);
    }
    leat_blake2b_final(&state, identity->key);
}

int leat_cache_key(const struct leat_plan *plan, const struct leat_opener *opener,
                   struct leat_data **data, struct leat_cache_identity *ret_identity,
                   struct leat_error *err) {
    struct leat_data_scope scope;
    struct leat_data *now;
    int r;

    leat_plan_data_scope(plan, plan->options.cache.verify == LEAT_CACHE_VERIFY_FULL, true, &scope);
    if (plan->set)
        r = (now = leat_set_data(plan->set, &scope)) ? 0 : leat_error_oom(err);
    else
        r = leat_data_new(&scope, opener, *data ? *data : plan->data, &now, err);
    if (r < 0)
        return r;
    leat_data_unref(*data);
    *data = now;
    *ret_identity = (struct leat_cache_identity){.n_shards = 1};
    memcpy(ret_identity->spec, plan->record_digest, sizeof(ret_identity->spec));
    memcpy(ret_identity->data, plan->set ? plan->set->data : now->digest,
           sizeof(ret_identity->data));
    make_key(now, ret_identity);
    return 0;
}

int leat_cache_check_source(const struct leat_plan *plan, const struct leat_opener *opener,
                            const struct leat_data *data, size_t file, struct leat_error *err) {
    const char *path = plan->source->files.paths[file];
    struct leat_file_state state;
    int r = leat_data_look(opener, path, &state, err);

    if (r < 0)
        return r;
    if (memcmp(&state, &data->states[file], sizeof(state)) != 0)
        return leat_error_set(err, -ESTALE, "%s: the file changed while leat cached it", path);
    return 0;
}

char *leat_cache_describe(const struct leat_plan *plan) {
    const struct leat_files *files = &plan->source->files;
    struct leat_text json = {.data = NULL};

    leat_json_open(&json, NULL, '{');
    leat_json_add_text(&json, "stream", plan->spec->name);
    leat_json_add_text(&json, "source", plan->source_ops->name);
    leat_json_add_uint(&json, "n_files", files->n_paths);
    leat_json_open(&json, "files", '[');
    for (size_t i = 0; i < files->n_paths && i < DESCRIBED_PATHS && json.n_bytes < DESCRIPTION_ROOM;
         i++)
        leat_json_add_text(&json, NULL, files->paths[i]);
    leat_json_close(&json, ']');
    leat_json_close(&json, '}');
    if (!json.failed)
        return json.data;
    free(json.data);
    return NULL;
}
