/* hash_bucket.c: keys without a dictionary: the hash of a text or whole number, modulo the number
 * of buckets.
 *
 * The hash is the first eight bytes, little endian, of BLAKE2b-256 over `salt` and the key, so that
 * whoever serves the model gets the same bucket with what every language has. In Python:
 * int.from_bytes(hashlib.blake2b(salt + key, digest_size=32).digest()[:8], "little") % buckets
 */
#include <string.h>

#include "pipeline/stages/shared_key.h"
#include "pipeline/stages/shared_numbers.h"
#include "proto/base/blake2b.h"

struct hash_bucket {
    struct leat_config base;
    struct leat_numbers numbers; /* input, output, dtype */
    int64_t buckets;
    const char *salt;

    struct leat_blake2b start; /* after the salt */
};

static const char *const dtypes[] = {"int32", "int64", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG_NAMED("input", hash_bucket, numbers.input, FIELD,
                   "the field to hash: a text, a whole number (leat hashes its decimal digits), or "
                   "a list of these",
                   .is_positional = true, .is_required = true),
    LEAT_ARG_NAMED("output", hash_bucket, numbers.output, FIELD,
                   "name of the result; default: the name of the input", .is_positional = true),
    LEAT_ARG(hash_bucket, buckets, INT,
             "number of buckets; the result is a number from 0 to `buckets` - 1",
             .is_required = true, .min = 1, .max = INT32_MAX),
    LEAT_ARG(hash_bucket, salt, TEXT,
             "a text that leat hashes before the value; with another salt, other values "
             "share a bucket",
             .fallback = ""),
    LEAT_NUMBERS_DTYPE_ARG(hash_bucket, numbers, dtypes, "int32", "dtype of the result"),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct hash_bucket *self = (struct hash_bucket *)config;
    struct leat_numbers *numbers = &self->numbers;
    const struct leat_field *from;
    struct leat_field *to;
    bool is_list;
    int r = leat_planner_find(planner, config, "input", numbers->input, &numbers->from, err);

    if (r < 0)
        return r;
    from = leat_planner_field(planner, numbers->from);
    r = leat_key_check(config, numbers->input, from, err);
    if (r < 0)
        return r;
    is_list = from->is_list && from->dtype != LEAT_DTYPE_TEXT;
    r = leat_planner_add_result(planner, config, numbers->input, numbers->output,
                                (enum leat_dtype)numbers->dtype, is_list, &numbers->to, &to, err);
    if (r < 0)
        return r;
    if (is_list) {
        to->max_length = from->max_length;
        to->width = from->width;
    }
    leat_blake2b_init(&self->start);
    leat_blake2b_update(&self->start, self->salt, strlen(self->salt));
    return 0;
}

static void put(const struct leat_config *config, struct leat_map *map, uint32_t row, size_t from,
                size_t to) {
    const struct hash_bucket *self = (const struct hash_bucket *)config;
    struct leat_blake2b state = self->start;
    uint8_t digest[LEAT_DIGEST_BYTES];
    char buffer[LEAT_SCALAR_TEXT_MAX];
    uint64_t hash = 0;
    size_t n;
    const char *key = leat_key_text(map, self->numbers.from, from, buffer, &n);

    (void)row;
    leat_blake2b_update(&state, key, n);
    leat_blake2b_final(&state, digest);
    for (int i = 7; i >= 0; i--)
        hash = hash << 8 | digest[i];
    (void)leat_scalar_store_int(leat_map_column(map, self->numbers.to)->values,
                                (enum leat_dtype)self->numbers.dtype, to,
                                (int64_t)(hash % (uint64_t)self->buckets));
}

const struct leat_stage_ops leat_stage_hash_bucket = {
    LEAT_STAGE_BASE("hash_bucket", hash_bucket, MAP),
    .summary = "replaces a value with the number of its hash bucket",
    .example = "{ input: Ticket, output: ticket_bucket, buckets: 1024 }",
    .plan = plan,
    .map = leat_numbers_config_map,
    .put = put,
};
