#include "pipeline/stages/shared_record_hash.h"

int leat_record_hash_plan(const struct leat_config *config, struct leat_planner *planner,
                          const char *input, uint32_t *ret_column, struct leat_error *err) {
    const struct leat_field *field;
    int r;

    *ret_column = LEAT_RECORD_HASH_ALL;
    if (!input)
        return 0;
    r = leat_planner_find(planner, config, "input", input, ret_column, err);
    if (r < 0)
        return r;
    field = leat_planner_field(planner, *ret_column);
    if (field->is_list && field->dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(config, "input", err,
                                 "\"%s\" is a list, but %s needs one value per record", input,
                                 config->ops->name);
    return leat_key_check(config, input, field, err);
}

struct leat_record_hash leat_record_hash(struct leat_map *map, uint32_t row, uint32_t column,
                                         uint64_t seed) {
    const struct leat_block *block = map->block;
    struct leat_record_hash hash = {.words = {0}};
    struct leat_blake2b state;
    uint8_t digest[LEAT_DIGEST_BYTES];
    char buffer[LEAT_SCALAR_TEXT_MAX];
    uint32_t record = block->records[row];
    size_t n = block->record_ends[record] - block->record_starts[record];
    const char *key;

    if (column != LEAT_RECORD_HASH_ALL)
        key = leat_key_text(map, column, row, buffer, &n);
    else if ((key = (const char *)leat_map_records(map)))
        key += block->record_starts[record];
    else
        n = 0; /* memory ran out */
    leat_blake2b_init(&state);
    leat_blake2b_u64(&state, seed);
    leat_blake2b_update(&state, key, n);
    leat_blake2b_final(&state, digest);
    for (size_t i = 0; i < 16; i++)
        hash.words[i / 8] |= (uint64_t)digest[i] << i % 8 * 8;
    return hash;
}
