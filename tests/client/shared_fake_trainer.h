/* shared_fake_trainer.h: a daemon that goes away when its budget of packets is used up, and a
 * trainer who goes on at the next one. */
#pragma once

#include <stdbool.h>

#include "proto/base/rng.h"
#include "tests/client/shared_fake_daemon.h"

#define FAKE_N_STEPS 5 /* of an epoch, over all ranks */
#define FAKE_WINDOW  3
#define FAKE_BREAKS  64

enum fake_how {
    FAKE_CLOSE,    /* end of file, or a reset if there is something unread */
    FAKE_GOAWAY,   /* with a word that it comes back */
    FAKE_REFUSE,   /* the same, where that is still possible */
    FAKE_SHORTAGE, /* a refusal that passes */
    FAKE_N_HOWS,
};

/* A daemon that is honest until its budget of packets is used up. Owner: its thread, until it is
 * joined. */
struct fake_script {
    size_t n_breaks, n_sessions;
    int budgets[FAKE_BREAKS]; /* of the first sessions; the later ones are without end */
    enum fake_how hows[FAKE_BREAKS];
    int left;
    bool is_copy;
    uint32_t n_held;
    struct {
        uint64_t generation;
        uint32_t slot;
    } held[FAKE_WINDOW]; /* of this session */
    uint64_t generation; /* the same ones in each session */
    int n_wrong;         /* packets of another session */
};

struct fake_trainer {
    struct fake_daemon fake;
    struct fake_script *script;
    struct leat_client *client;
    struct leat_stream *stream;
    uint32_t n_lost, n_tried, n_back;
    char reason[256];
    uint32_t n_held;
    struct leat_batch *held[FAKE_WINDOW];
    struct leat_rng rng;
};

void fake_trainer_options(struct fake_trainer *trainer, struct leat_open_options *options);
/* What leat_client_open() returns. */
int fake_trainer_open(struct fake_trainer *trainer, struct fake_script *script,
                      const struct leat_open_options *options);
/* One of the batches that it holds, which must be what it was. */
void fake_trainer_release(struct fake_trainer *trainer);
void fake_trainer_close(struct fake_trainer *trainer);
