/* share.c: see share.h.
 *
 * Rank r of W gets the steps s with s mod W = r, and so, as long as all of L lanes have batches,
 * those of the lanes that are congruent to r modulo the greatest common divisor of W and L. Lanes
 * fit a world if one number divides the other: then a lane is of one rank, or is shared by ranks
 * that read nothing else.
 */
#include "pipeline/inspect/share.h"

#include "proto/base/json_writer.h"

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b > 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The next smaller and larger multiple of the world size. */
static void find_fitting(struct leat_node_share *share) {
    uint64_t world_size = share->ranks.world_size, below = share->n_lanes / world_size * world_size;

    if (share->n_lanes % world_size == 0 || world_size % share->n_lanes == 0)
        return;
    if (below > 0)
        share->fitting[share->n_fitting++] = below;
    if (below + world_size <= LEAT_ORDER_LANES_MAX)
        share->fitting[share->n_fitting++] = below + world_size;
}

static void share_lanes(struct leat_node_share *share, const struct leat_plan *plan) {
    uint64_t divisor = common_divisor(share->ranks.world_size, plan->blocks.n_lanes);
    uint64_t n_blocks = (plan->n_rows + plan->blocks.block_size - 1) / plan->blocks.block_size;

    share->n_lanes = plan->blocks.n_lanes;
    share->n_own = (size_t)((share->ranks.n < divisor ? share->ranks.n : divisor) *
                            (share->n_lanes / divisor));
    share->bytes = (double)share->n_own / (double)share->n_lanes;
    share->held_bytes = (uint64_t)((double)share->held_bytes * share->bytes);
    if (plan->has_n_rows)
        share->n_requests = (uint64_t)((double)n_blocks * share->bytes + 0.5);
    find_fitting(share);
}

struct leat_node_share leat_node_share(const struct leat_plan *plan,
                                       const struct leat_node_ranks *ranks, uint64_t order_bytes) {
    struct leat_node_share share = {.ranks = *ranks, .bytes = 1, .held_bytes = order_bytes};

    share.batches = (double)ranks->n / (double)ranks->world_size;
    if (plan->blocks.n_lanes > 0)
        share_lanes(&share, plan);
    return share;
}

static void add_fitting(struct leat_text *text, const struct leat_node_share *share) {
    if (share->n_fitting == 0)
        return;
    leat_text_add(text, "           %llu ranks cannot share %zu lanes evenly: use `lanes: ",
                  (unsigned long long)share->ranks.world_size, share->n_lanes);
    for (size_t i = 0; i < share->n_fitting; i++)
        leat_text_add(text, "%s%llu", i ? "` or `lanes: " : "",
                      (unsigned long long)share->fitting[i]);
    leat_text_add(text, "`\n");
}

void leat_node_share_text(struct leat_text *text, const struct leat_node_share *share) {
    leat_text_add(text, "\nranks %llu to %llu of %llu together need\n",
                  (unsigned long long)share->ranks.first,
                  (unsigned long long)(share->ranks.first + share->ranks.n - 1),
                  (unsigned long long)share->ranks.world_size);
    leat_text_add(text, "  CPU      %.3f of the work to make batches%s\n", share->batches,
                  share->n_lanes > 0 ? "" : "; this machine still orders references to all rows");
    if (share->n_lanes > 0)
        leat_text_add(text, "  lanes    %zu of %zu\n", share->n_own, share->n_lanes);
    add_fitting(text, share);
    leat_text_add(
        text, "  bytes    %s%.3f of the data%s\n", share->n_lanes > 0 ? "about " : "", share->bytes,
        share->n_lanes > 0 ? "" : "; with `shuffle: {lanes}`, this machine would read less");
    if (share->n_requests > 0)
        leat_text_add(text, "  requests about %llu, one for each block\n",
                      (unsigned long long)share->n_requests);
    leat_text_add(text, "  memory   at most %.1f MiB for waiting rows\n",
                  (double)share->held_bytes / 1048576);
}

void leat_node_share_json(struct leat_text *text, const struct leat_node_share *share) {
    leat_json_open(text, "share", '{');
    leat_json_add_uint(text, "first_rank", share->ranks.first);
    leat_json_add_uint(text, "n_ranks", share->ranks.n);
    leat_json_add_uint(text, "world_size", share->ranks.world_size);
    leat_json_add_double(text, "cpu", share->batches);
    leat_json_add_uint(text, "n_lanes", share->n_lanes);
    leat_json_add_uint(text, "n_own_lanes", share->n_own);
    leat_json_add_double(text, "bytes", share->bytes);
    leat_json_add_uint(text, "n_requests", share->n_requests);
    leat_json_add_uint(text, "held_bytes", share->held_bytes);
    leat_json_open(text, "fitting_lanes", '[');
    for (size_t i = 0; i < share->n_fitting; i++)
        leat_json_add_uint(text, NULL, share->fitting[i]);
    leat_json_close(text, ']');
    leat_json_close(text, '}');
}
