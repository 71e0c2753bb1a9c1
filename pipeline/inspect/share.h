/* share.h: what one node of many takes of a stream: of its batches, bytes and memory, as a forecast
 * of its plan. */
#pragma once

#include "pipeline/plan/plan.h"

/* The ranks of a node; world_size 0: nothing is asked. */
struct leat_node_ranks {
    uint64_t first, n, world_size; /* first + n <= world_size */
};

#define LEAT_SHARE_FITTING_MAX 2

struct leat_node_share {
    struct leat_node_ranks ranks;
    double batches;        /* the part of all batches that its ranks get */
    size_t n_lanes, n_own; /* of the stream, and those that its ranks read; 0: no lanes */
    double bytes;          /* the part of the data that it reads */
    uint64_t n_requests;   /* about so many blocks; 0: unknown */
    uint64_t held_bytes;   /* of rows that wait in the order, at most */
    size_t n_fitting;      /* where lanes and world do not fit: */
    uint64_t fitting[LEAT_SHARE_FITTING_MAX]; /* numbers of lanes that would, ascending */
};

/* order_bytes: of rows that wait on a lone machine. Pure. */
struct leat_node_share leat_node_share(const struct leat_plan *plan,
                                       const struct leat_node_ranks *ranks, uint64_t order_bytes);
void leat_node_share_text(struct leat_text *text, const struct leat_node_share *share);
/* Adds a member "share" of an object. */
void leat_node_share_json(struct leat_text *text, const struct leat_node_share *share);
