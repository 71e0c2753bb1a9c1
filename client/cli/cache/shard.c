#include "client/cli/cache/shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cache/shards.h"

#define N_SHARDS "LEAT_SHARDS"

/* The variables of a task of a job array; first: the lowest index, counts from it. */
static const struct {
    const char *index, *count, *first;
} schedulers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},
    {"AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE", NULL},
    {"JOB_COMPLETION_INDEX", N_SHARDS, NULL},
};

static int read_number(const char *name, int64_t *ret_value, struct leat_error *err) {
    const char *text = getenv(name);

    if (text && leat_parse_int(text, strlen(text), ret_value) == 0)
        return 0;
    return leat_error_set(
        err, -EINVAL, "leatctl prepare: --shard auto: the variable %s is %s%.32s%s", name,
        text ? "\"" : "not set", text ? text : "", text ? "\", not a number" : "");
}

static int check(int64_t shard, int64_t n, const char *name, uint32_t *ret_shard,
                 uint32_t *ret_n_shards, struct leat_error *err) {
    if (n < 2 || n > LEAT_CACHE_SHARDS_MAX || shard < 0 || shard >= n)
        return leat_error_set(err, -EINVAL,
                              "leatctl prepare: --shard: \"%.32s\" is not I/N such as 0/8, with N "
                              "in 2..%d and I from 0 to N-1",
                              name, LEAT_CACHE_SHARDS_MAX);
    *ret_shard = (uint32_t)shard;
    *ret_n_shards = (uint32_t)n;
    return 0;
}

static int parse_auto(uint32_t *ret_shard, uint32_t *ret_n_shards, struct leat_error *err) {
    bool has_count = getenv(N_SHARDS) != NULL;
    int64_t shard, n, first = 0;
    char name[64];
    size_t i = 0;
    int r;

    while (i < sizeof(schedulers) / sizeof(schedulers[0]) && !getenv(schedulers[i].index))
        i++;
    if (i == sizeof(schedulers) / sizeof(schedulers[0]))
        return leat_error_set(err, -EINVAL,
                              "leatctl prepare: --shard auto: this is not a task of a job array, "
                              "because %s, %s and %s are not set; give --shard I/N",
                              schedulers[0].index, schedulers[1].index, schedulers[2].index);
    r = read_number(schedulers[i].index, &shard, err);
    if (r == 0)
        r = read_number(has_count ? N_SHARDS : schedulers[i].count, &n, err);
    if (r == 0 && schedulers[i].first && !has_count)
        r = read_number(schedulers[i].first, &first, err);
    if (r < 0)
        return r;
    if (first < 0 || (first > 0 && first > shard))
        return leat_error_set(err, -EINVAL,
                              "leatctl prepare: --shard auto: the variable %s is not in 0..%lld",
                              schedulers[i].first, (long long)shard);
    (void)snprintf(name, sizeof(name), "%lld/%lld", (long long)(shard - first), (long long)n);
    return check(shard - first, n, name, ret_shard, ret_n_shards, err);
}

int leat_cli_shard_parse(const char *text, uint32_t *ret_shard, uint32_t *ret_n_shards,
                         struct leat_error *err) {
    const char *slash = strchr(text, '/');
    int64_t shard = -1, n = 0;

    if (strcmp(text, "auto") == 0)
        return parse_auto(ret_shard, ret_n_shards, err);
    if (!slash || leat_parse_int(text, (size_t)(slash - text), &shard) < 0 ||
        leat_parse_int(slash + 1, strlen(slash + 1), &n) < 0)
        n = 0;
    return check(shard, n, text, ret_shard, ret_n_shards, err);
}
