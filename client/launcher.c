/* launcher.c: see launcher.h. Each launcher is a row of a table. Empty variables count as unset.
 *
 * Slurm sets SLURM_PROCID for the batch script too, which is not a task of a step and so not a
 * rank. Its number of tasks per node is the one that was asked for, which may not be the actual
 * one: it is a hint, and ignored if it does not fit the other variables. */
#include "client/launcher.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/launcher_hosts.h"

#define OWN_SIZE "LEAT_WORLD_SIZE"

struct launcher {
    const char *name;
    const char *rank;
    const char *sizes[3]; /* the first that is set */
    const char *hosts;    /* a file that has an item for each rank; may be NULL */
    const char *local_rank, *local_sizes[2];
    bool are_local_hints;
    bool (*is_absent)(void); /* though `rank` is set; may be NULL */
};

static const char *get_variable(const char *name) {
    const char *text = name ? getenv(name) : NULL;

    return text && text[0] ? text : NULL;
}

static bool is_slurm_script(void) {
    const char *environment = get_variable("ENVIRONMENT");

    if (get_variable("SLURM_STEP_ID"))
        return false;
    return (environment && strcmp(environment, "BATCH") == 0) ||
           (!get_variable("SLURM_NTASKS") && !get_variable("SLURM_STEP_NUM_TASKS"));
}

static const struct launcher launchers[] = {
    {.name = "environment",
     .rank = "LEAT_RANK",
     .sizes = {OWN_SIZE},
     .local_rank = "LEAT_LOCAL_RANK",
     .local_sizes = {"LEAT_LOCAL_WORLD_SIZE"}},
    {.name = "torchrun",
     .rank = "RANK",
     .sizes = {"WORLD_SIZE"},
     .local_rank = "LOCAL_RANK",
     .local_sizes = {"LOCAL_WORLD_SIZE"}},
    {.name = "mlx.launch",
     .rank = "MLX_RANK",
     .sizes = {"MLX_WORLD_SIZE"},
     .hosts = "MLX_HOSTFILE",
     .local_rank = "MLX_LOCAL_RANK",
     .local_sizes = {"MLX_LOCAL_WORLD_SIZE"}},
    {.name = "openmpi",
     .rank = "OMPI_COMM_WORLD_RANK",
     .sizes = {"OMPI_COMM_WORLD_SIZE"},
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_sizes = {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
    {.name = "mpich",
     .rank = "PMI_RANK",
     .sizes = {"PMI_SIZE"},
     .local_rank = "MPI_LOCALRANKID",
     .local_sizes = {"MPI_LOCALNRANKS"}},
    {.name = "slurm",
     .rank = "SLURM_PROCID",
     .sizes = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     .local_rank = "SLURM_LOCALID",
     .local_sizes = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"},
     .are_local_hints = true,
     .is_absent = is_slurm_script},
    {.name = "kubernetes", .rank = "JOB_COMPLETION_INDEX", .sizes = {OWN_SIZE, "WORLD_SIZE"}},
};

static const struct launcher *find_launcher(void) {
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
        if (get_variable(launchers[i].rank) &&
            !(launchers[i].is_absent && launchers[i].is_absent()))
            return &launchers[i];
    return NULL;
}

static const char *first_set(const char *const *names, size_t n_names) {
    for (size_t i = 0; i < n_names; i++)
        if (get_variable(names[i]))
            return names[i];
    return NULL;
}

/* ---- numbers ---- */

static bool parse_number(const char *text, uint32_t max, uint32_t *ret_number) {
    uint64_t number = 0;
    size_t n = strlen(text);

    if (n > 10 || strspn(text, "0123456789") != n)
        return false;
    number = strtoull(text, NULL, 10);
    *ret_number = (uint32_t)number;
    return number <= max;
}

static int read_number(const char *name, uint32_t min, uint32_t max, uint32_t *ret_number,
                       struct leat_error *err) {
    if (parse_number(get_variable(name), max, ret_number) && *ret_number >= min)
        return 0;
    return leat_error_set(
        err, -EINVAL,
        "the environment variable %s is \"%.32s\", but it must be a whole number in %u..%u", name,
        get_variable(name), min, max);
}

/* Parses "4", or "4(x2)" of equal nodes. A list of unequal nodes is no hint. */
static bool parse_hint(const char *text, uint32_t *ret_number) {
    char number[16] = "";
    size_t n = strcspn(text, "(");

    if (n >= sizeof(number) || strchr(text, ','))
        return false;
    memcpy(number, text, n);
    return n > 0 && parse_number(number, LEAT_LAUNCHER_MAX_WORLD, ret_number);
}

/* ---- a launcher's variables ---- */

static int read_size(const struct launcher *launcher, struct leat_ranks *ranks, uint32_t given_size,
                     struct leat_error *err) {
    const char *name = first_set(launcher->sizes, 3);

    if (name)
        return read_number(name, 1, LEAT_LAUNCHER_MAX_WORLD, &ranks->world_size, err);
    if (get_variable(launcher->hosts))
        return leat_launcher_read_hosts(get_variable(launcher->hosts), &ranks->world_size, err);
    ranks->world_size = given_size;
    if (given_size > 0)
        return 0;
    return leat_error_set(err, -EINVAL,
                          "the environment variable %s is %.32s, but no variable gives the number "
                          "of ranks: set %s, or give world_size (1 if this is the only rank)",
                          launcher->rank, get_variable(launcher->rank), launcher->sizes[0]);
}

static int check_local(const struct launcher *launcher, struct leat_ranks *ranks,
                       struct leat_error *err) {
    const char *size = first_set(launcher->local_sizes, 2);

    if (ranks->local_rank < ranks->local_world_size && ranks->local_world_size <= ranks->world_size)
        return 0;
    if (!launcher->are_local_hints)
        return leat_error_set(
            err, -EINVAL,
            "the environment variables %s (%u), %s (%u) and %s (%u) contradict each other",
            launcher->local_rank, ranks->local_rank, size, ranks->local_world_size,
            launcher->sizes[0], ranks->world_size);
    ranks->local_rank = ranks->local_world_size = 0;
    return 0;
}

static int read_local(const struct launcher *launcher, struct leat_ranks *ranks,
                      struct leat_error *err) {
    const char *size = first_set(launcher->local_sizes, 2);
    int r;

    if (!get_variable(launcher->local_rank) || !size)
        return 0;
    if (launcher->are_local_hints) {
        if (!parse_number(get_variable(launcher->local_rank), LEAT_LAUNCHER_MAX_WORLD,
                          &ranks->local_rank) ||
            !parse_hint(get_variable(size), &ranks->local_world_size))
            ranks->local_rank = ranks->local_world_size = 0;
        return ranks->local_world_size ? check_local(launcher, ranks, err) : 0;
    }
    r = read_number(launcher->local_rank, 0, LEAT_LAUNCHER_MAX_WORLD - 1, &ranks->local_rank, err);
    if (r == 0)
        r = read_number(size, 1, LEAT_LAUNCHER_MAX_WORLD, &ranks->local_world_size, err);
    return r < 0 ? r : check_local(launcher, ranks, err);
}

/* If LEAT_WORLD_SIZE is set besides, it must agree. */
static int check_own_size(const struct launcher *launcher, const struct leat_ranks *ranks,
                          struct leat_error *err) {
    uint32_t own;
    int r;

    if (!get_variable(OWN_SIZE))
        return 0;
    r = read_number(OWN_SIZE, 1, LEAT_LAUNCHER_MAX_WORLD, &own, err);
    if (r == 0 && own != ranks->world_size)
        r = leat_error_set(err, -EINVAL,
                           "the environment variable " OWN_SIZE
                           " is %u, but %s says that there are %u ranks",
                           own, launcher->name, ranks->world_size);
    return r;
}

static int read_launcher(const struct launcher *launcher, uint32_t given_size,
                         struct leat_ranks *ranks, struct leat_error *err) {
    int r = read_number(launcher->rank, 0, LEAT_LAUNCHER_MAX_WORLD - 1, &ranks->rank, err);

    ranks->source = launcher->name;
    if (r == 0)
        r = read_size(launcher, ranks, given_size, err);
    if (r == 0 && given_size > 0 && ranks->world_size != given_size)
        r = leat_error_set(err, -EINVAL, "world_size is %u, but %s says that there are %u ranks",
                           given_size, launcher->name, ranks->world_size);
    if (r == 0)
        r = check_own_size(launcher, ranks, err);
    if (r == 0 && ranks->rank >= ranks->world_size)
        r = leat_error_set(err, -EINVAL,
                           "the environment variable %s is %u, but there are only %u ranks (%s)",
                           launcher->rank, ranks->rank, ranks->world_size, launcher->name);
    return r < 0 ? r : read_local(launcher, ranks, err);
}

/* ---- arguments and launcher together ---- */

static int check_given(const struct leat_ranks *given, struct leat_error *err) {
    uint32_t size = given->local_world_size;

    if (given->world_size > LEAT_LAUNCHER_MAX_WORLD)
        return leat_error_set(err, -EINVAL, "world_size %u is outside 1..%u", given->world_size,
                              LEAT_LAUNCHER_MAX_WORLD);
    if (given->world_size > 0 && given->rank != LEAT_RANK_LAUNCHER &&
        given->rank >= given->world_size)
        return leat_error_set(err, -EINVAL, "rank %u is outside 0..%u (world_size %u)", given->rank,
                              given->world_size - 1, given->world_size);
    if (given->world_size == 0 && given->rank > 0 && given->rank != LEAT_RANK_LAUNCHER)
        return leat_error_set(err, -EINVAL, "rank is %u, but world_size is missing: give both",
                              given->rank);
    if ((size > 0 && given->local_rank >= size) || (size == 0 && given->local_rank > 0) ||
        (given->world_size > 0 && size > given->world_size))
        return leat_error_set(
            err, -EINVAL,
            "local_rank %u, local_world_size %u and world_size %u contradict each "
            "other",
            given->local_rank, size, given->world_size);
    return 0;
}

/* Takes the local rank from a launcher that has the same rank and size. */
static void take_arguments(const struct launcher *launcher, struct leat_ranks *ranks) {
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct leat_ranks found = {.rank = 0};

    ranks->source = "arguments";
    if (!launcher || ranks->local_world_size > 0 ||
        read_launcher(launcher, 0, &found, &ignored) < 0 || found.rank != ranks->rank ||
        found.world_size != ranks->world_size)
        return;
    ranks->local_rank = found.local_rank;
    ranks->local_world_size = found.local_world_size;
}

/* Finds a launcher that has set the size, but not the rank. (Slurm does so in its batch script.) */
static const struct launcher *find_without_rank(void) {
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const char *size = get_variable(launchers[i].sizes[0]);

        if (size && strcmp(size, "1") != 0 && !launchers[i].is_absent)
            return &launchers[i];
    }
    return NULL;
}

static int take_no_launcher(const struct leat_ranks *given, struct leat_ranks *ranks,
                            struct leat_error *err) {
    const struct launcher *launcher = find_without_rank();

    if (given->rank == LEAT_RANK_LAUNCHER)
        return leat_error_set(
            err, -EINVAL,
            "no launcher has set the rank: give a rank, or set LEAT_RANK and " OWN_SIZE);
    if (launcher)
        return leat_error_set(err, -EINVAL,
                              "the environment variable %s is \"%.32s\", but no variable gives the "
                              "rank: set %s, or give world_size (1 if this is the only rank)",
                              launcher->sizes[0], get_variable(launcher->sizes[0]), launcher->rank);
    *ranks = (struct leat_ranks){.world_size = 1, .source = ""};
    return 0;
}

int leat_launcher_complete(struct leat_ranks *ranks, struct leat_error *err) {
    const struct launcher *launcher = find_launcher();
    const struct leat_ranks given = *ranks;
    int r = check_given(&given, err);

    if (r < 0)
        return r;
    if (given.world_size > 0 && given.rank != LEAT_RANK_LAUNCHER) {
        take_arguments(launcher, ranks);
        return 0;
    }
    *ranks = (struct leat_ranks){.source = ""};
    r = launcher ? read_launcher(launcher, given.world_size, ranks, err)
                 : take_no_launcher(&given, ranks, err);
    if (r < 0 || given.local_world_size == 0)
        return r;
    ranks->local_rank = given.local_rank;
    ranks->local_world_size = given.local_world_size;
    return given.local_world_size <= ranks->world_size
               ? 0
               : leat_error_set(err, -EINVAL,
                                "local_world_size is %u, but there are only %u ranks (%s)",
                                given.local_world_size, ranks->world_size, ranks->source);
}
