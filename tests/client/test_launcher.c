/* test_launcher.c: rank and world size from arguments and from the environments that launchers
 * make; what is there in part or contradicts itself is refused by name. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/launcher.h"
#include "client/launcher_hosts.h"
#include "proto/base/rng.h"

struct outcome {
    int code;
    struct leat_ranks ranks;
    struct leat_error err;
};

/* "A=1 B=x" is the whole environment. */
static struct outcome complete(const char *environment, struct leat_ranks given) {
    struct outcome outcome = {.ranks = given, .err = LEAT_ERROR_INIT};
    char text[1024], *rest = text;

    (void)snprintf(text, sizeof(text), "%s", environment);
    assert_int_equal(clearenv(), 0);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        assert_int_equal(setenv(word, value, 1), 0);
    }
    outcome.code = leat_launcher_complete(&outcome.ranks, &outcome.err);
    assert_int_equal(outcome.code, outcome.err.code);
    return outcome;
}

static void expect(const char *environment, struct leat_ranks given, uint32_t rank, uint32_t size,
                   uint32_t local_rank, uint32_t local_size, const char *source) {
    struct outcome outcome = complete(environment, given);

    if (outcome.code < 0)
        fail_msg("%s: %s", environment, outcome.err.message);
    assert_int_equal(outcome.ranks.rank, rank);
    assert_int_equal(outcome.ranks.world_size, size);
    assert_int_equal(outcome.ranks.local_rank, local_rank);
    assert_int_equal(outcome.ranks.local_world_size, local_size);
    assert_string_equal(outcome.ranks.source, source);
}

static const struct leat_ranks nothing = {.rank = 0};

#define TORCH "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4"

static void test_launchers(void **state) {
    (void)state;
    expect("", nothing, 0, 1, 0, 0, "");
    expect("PATH=/bin HOME=/root WORLD_SIZE=1", nothing, 0, 1, 0, 0, "");
    expect("RANK= LEAT_WORLD_SIZE=", nothing, 0, 1, 0, 0, "");
    expect(TORCH, nothing, 5, 8, 1, 4, "torchrun");
    expect("LEAT_RANK=2 LEAT_WORLD_SIZE=3", nothing, 2, 3, 0, 0, "environment");
    expect("MLX_RANK=1 MLX_WORLD_SIZE=2", nothing, 1, 2, 0, 0, "mlx.launch");
    expect("OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=3 "
           "OMPI_COMM_WORLD_LOCAL_SIZE=4",
           nothing, 7, 8, 3, 4, "openmpi");
    expect("PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1", nothing, 1, 2, 0, 1,
           "mpich");
    expect("SLURM_PROCID=6 SLURM_NTASKS=8 SLURM_LOCALID=2 SLURM_NTASKS_PER_NODE=4", nothing, 6, 8,
           2, 4, "slurm");
    expect("JOB_COMPLETION_INDEX=3 LEAT_WORLD_SIZE=4", nothing, 3, 4, 0, 0, "kubernetes");
    expect("JOB_COMPLETION_INDEX=3 WORLD_SIZE=5", nothing, 3, 5, 0, 0, "kubernetes");
}

/* The innermost launcher counts. */
static void test_nested(void **state) {
    (void)state;
    expect(TORCH " SLURM_PROCID=1 SLURM_NTASKS=2", nothing, 5, 8, 1, 4, "torchrun");
    expect("OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8 SLURM_PROCID=1 SLURM_NTASKS=2", nothing,
           7, 8, 0, 0, "openmpi");
    expect(TORCH " LEAT_RANK=0 LEAT_WORLD_SIZE=1", nothing, 0, 1, 0, 0, "environment");
    expect(TORCH " JOB_COMPLETION_INDEX=3", nothing, 5, 8, 1, 4, "torchrun");
}

static void test_slurm(void **state) {
    (void)state;
    /* the batch script is no task; what it starts by srun is */
    expect("ENVIRONMENT=BATCH SLURM_PROCID=0 SLURM_NTASKS=8", nothing, 0, 1, 0, 0, "");
    expect("SLURM_PROCID=0", nothing, 0, 1, 0, 0, "");
    expect("ENVIRONMENT=BATCH SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=8",
           nothing, 3, 8, 0, 0, "slurm");
    /* of hints only those that fit are taken */
    expect("SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_LOCALID=1 "
           "SLURM_STEP_TASKS_PER_NODE=2(x2) SLURM_NTASKS_PER_NODE=8",
           nothing, 3, 4, 1, 2, "slurm");
    expect("SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_LOCALID=1 SLURM_STEP_TASKS_PER_NODE=2,1(x2)",
           nothing, 3, 4, 0, 0, "slurm");
    expect("SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1 SLURM_NTASKS_PER_NODE=4", nothing, 1, 2,
           0, 0, "slurm");
    expect("SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=x SLURM_NTASKS_PER_NODE=2", nothing, 1, 2,
           0, 0, "slurm");
}

static void test_arguments(void **state) {
    const struct leat_ranks given = {.rank = 2, .world_size = 4};
    const struct leat_ranks local = {
        .rank = 2, .world_size = 4, .local_rank = 0, .local_world_size = 2};
    const struct leat_ranks alone = {.world_size = 1};
    const struct leat_ranks sized = {.rank = LEAT_RANK_LAUNCHER, .world_size = 8};
    const struct leat_ranks asked = {.rank = LEAT_RANK_LAUNCHER};

    (void)state;
    expect("", given, 2, 4, 0, 0, "arguments");
    expect("", local, 2, 4, 0, 2, "arguments");
    expect(TORCH, given, 2, 4, 0, 0, "arguments");
    expect(TORCH, alone, 0, 1, 0, 0, "arguments");
    expect("RANK=x", given, 2, 4, 0, 0, "arguments");
    /* who says the same knows the machine */
    expect(TORCH, (struct leat_ranks){.rank = 5, .world_size = 8}, 5, 8, 1, 4, "arguments");
    expect(TORCH, sized, 5, 8, 1, 4, "torchrun");
    expect(TORCH, asked, 5, 8, 1, 4, "torchrun");
    expect("JOB_COMPLETION_INDEX=3", sized, 3, 8, 0, 0, "kubernetes");
    expect(TORCH, (struct leat_ranks){.local_rank = 0, .local_world_size = 2}, 5, 8, 0, 2,
           "torchrun");
}

static void test_refused(void **state) {
    const struct {
        const char *environment;
        struct leat_ranks given;
        const char *words[3];
    } cases[] = {
        {"RANK=3", {0}, {"RANK is 3", "WORLD_SIZE"}},
        {"RANK=-1 WORLD_SIZE=2", {0}, {"RANK is \"-1\""}},
        {"RANK=1.0 WORLD_SIZE=2", {0}, {"RANK is \"1.0\""}},
        {"RANK=99999999999999999999 WORLD_SIZE=2", {0}, {"RANK"}},
        {"RANK=1 WORLD_SIZE=0", {0}, {"WORLD_SIZE is \"0\""}},
        {"RANK=1 WORLD_SIZE=1048577", {0}, {"WORLD_SIZE", "1..1048576"}},
        {"RANK=2 WORLD_SIZE=2", {0}, {"RANK is 2", "only 2 ranks", "torchrun"}},
        {"RANK=0 WORLD_SIZE=2 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", {0}, {"LOCAL_RANK (2)"}},
        {"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=3", {0}, {"LOCAL_WORLD_SIZE (3)"}},
        {"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=a", {0}, {"LOCAL_WORLD_SIZE is \"a\""}},
        {TORCH " LEAT_WORLD_SIZE=4", {0}, {"LEAT_WORLD_SIZE is 4", "torchrun", "8"}},
        {"LEAT_WORLD_SIZE=4", {0}, {"LEAT_WORLD_SIZE", "LEAT_RANK"}},
        {"WORLD_SIZE=4", {0}, {"WORLD_SIZE is \"4\"", "set RANK"}},
        {"PMI_SIZE=x", {0}, {"PMI_SIZE is \"x\"", "PMI_RANK"}},
        {"LEAT_RANK=4", {0}, {"LEAT_RANK is 4", "LEAT_WORLD_SIZE"}},
        {"JOB_COMPLETION_INDEX=3", {0}, {"JOB_COMPLETION_INDEX", "LEAT_WORLD_SIZE"}},
        {"MLX_RANK=0 MLX_HOSTFILE=/nonexistent", {0}, {"/nonexistent"}},
        {"SLURM_PROCID=4 SLURM_NTASKS=4", {0}, {"SLURM_PROCID is 4"}},
        {TORCH,
         {.rank = LEAT_RANK_LAUNCHER, .world_size = 4},
         {"world_size is 4", "torchrun", "8"}},
        {"", {.rank = LEAT_RANK_LAUNCHER, .world_size = 4}, {"no launcher"}},
        {"", {.rank = LEAT_RANK_LAUNCHER}, {"no launcher"}},
        {"", {.rank = 4, .world_size = 4}, {"rank 4", "0..3"}},
        {"", {.rank = 4}, {"rank is 4", "world_size is missing"}},
        {"", {.world_size = 1U << 21}, {"2097152"}},
        {"", {.world_size = 2, .local_rank = 1}, {"local_rank 1"}},
        {"", {.world_size = 2, .local_world_size = 3}, {"local_world_size"}},
        {TORCH, {.local_world_size = 9}, {"local_world_size is 9", "8"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = complete(cases[i].environment, cases[i].given);

        if (outcome.code != -EINVAL && outcome.code != -ENOENT)
            fail_msg("%s: %d", cases[i].environment, outcome.code);
        for (size_t k = 0; k < 3 && cases[i].words[k]; k++)
            if (!strstr(outcome.err.message, cases[i].words[k]))
                fail_msg("\"%s\" is not in \"%s\"", cases[i].words[k], outcome.err.message);
    }
}

/* Whatever stands there: a rank below its world's size, or a refusal. */
static void test_any_environment(void **state) {
    static const char *const names[] = {"RANK",         "WORLD_SIZE",      "LOCAL_RANK",
                                        "LEAT_RANK",    "LEAT_WORLD_SIZE", "LOCAL_WORLD_SIZE",
                                        "SLURM_PROCID", "SLURM_NTASKS",    "SLURM_LOCALID",
                                        "PMI_RANK",     "PMI_SIZE",        "JOB_COMPLETION_INDEX",
                                        "MLX_RANK",     "MLX_WORLD_SIZE",  "SLURM_NTASKS_PER_NODE"};
    static const char *const values[] = {"0", "1", "2", "3", "4", "", "x", "4(x2)", "4294967296"};
    const size_t n_names = sizeof(names) / sizeof(names[0]);
    struct leat_rng rng = {.state = 11};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct leat_ranks given = {.world_size = (uint32_t)leat_rng_below(&rng, 3)};
        char environment[1024] = "";
        struct outcome outcome;

        for (uint64_t k = leat_rng_below(&rng, 7); k > 0; k--)
            (void)snprintf(environment + strlen(environment),
                           sizeof(environment) - strlen(environment), "%s=%s ",
                           names[leat_rng_below(&rng, n_names)], values[leat_rng_below(&rng, 9)]);
        if (leat_rng_below(&rng, 2))
            given.rank = LEAT_RANK_LAUNCHER;
        outcome = complete(environment, given);
        if (outcome.code == 0) {
            assert_true(outcome.ranks.rank < outcome.ranks.world_size);
            assert_true(outcome.ranks.local_world_size <= outcome.ranks.world_size);
            assert_true(outcome.ranks.local_rank <= outcome.ranks.local_world_size);
        } else {
            assert_int_equal(outcome.code, -EINVAL);
        }
    }
}

/* ---- host files ---- */

static void test_hosts(void **state) {
    static const struct {
        const char *text;
        uint32_t n; /* 0: refused */
    } cases[] = {
        {"[\"a:1\"]", 1},
        {" [ [\"a:1\", \"a:2\"], [\"b:1\"] ]\n", 2},
        {"[{\"ssh\": \"a]\", \"ips\": [1, 2]}, {\"x\": \"\\\"\"}, 3]", 3},
        {"", 0},
        {"[]", 0},
        {"[", 0},
        {"]", 0},
        {"[1,]", 0},
        {"[,1]", 0},
        {"[1,,2]", 0},
        {"[1] 2", 0},
        {"[1][2]", 0},
        {"{\"a\": 1}", 0},
        {"[[1}]", 0},
        {"[\"a]", 0},
        {"[\"a\\", 0},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t n = 7;
        int r = leat_launcher_count_hosts(cases[i].text, strlen(cases[i].text), &n);

        if (r != (cases[i].n ? 0 : -EINVAL) || n != cases[i].n)
            fail_msg("%s: %d, %u", cases[i].text, r, n);
    }
    assert_int_equal(leat_launcher_count_hosts("[1]\0", 4, &(uint32_t){0}), -EINVAL);
}

static void test_host_file(void **state) {
    char path[] = "/tmp/leat-hosts-XXXXXX", environment[128];
    struct leat_error err = LEAT_ERROR_INIT;
    int fd = mkstemp(path);
    uint32_t n;

    (void)state;
    assert_int_equal(write(fd, "[[\"a\"], [\"b\"], [\"c\"]]", 21), 21);
    (void)snprintf(environment, sizeof(environment), "MLX_RANK=2 MLX_HOSTFILE=%s", path);
    expect(environment, nothing, 2, 3, 0, 0, "mlx.launch");
    assert_int_equal(ftruncate(fd, 2 << 20), 0);
    assert_int_equal(leat_launcher_read_hosts(path, &n, &err), -EFBIG);
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_launcher_read_hosts("/dev/zero", &n, &err), -EINVAL);
    (void)close(fd);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launchers), cmocka_unit_test(test_nested),
        cmocka_unit_test(test_slurm),     cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_any_environment),
        cmocka_unit_test(test_hosts),     cmocka_unit_test(test_host_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
