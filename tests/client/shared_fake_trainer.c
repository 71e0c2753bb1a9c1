/* shared_fake_trainer.c: see shared_fake_trainer.h. */
#include "tests/client/shared_fake_trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

static bool act(struct fake_script *script) {
    return script->left-- > 0;
}

static bool take_release(struct fake_script *script, int fd) {
    struct leat_packet packet;

    if (!fake_receive(fd, &packet) || packet.kind == LEAT_PACKET_BYE)
        return false;
    if (packet.kind == LEAT_PACKET_REACHED)
        return true;
    for (uint32_t i = 0; i < script->n_held; i++)
        if (packet.kind == LEAT_PACKET_RELEASE && packet.batch.slot == script->held[i].slot &&
            packet.batch.generation == script->held[i].generation) {
            script->held[i] = script->held[--script->n_held];
            return true;
        }
    script->n_wrong++;
    return false;
}

static bool send_batch(struct fake_script *script, int fd, uint64_t epoch, uint64_t step) {
    while (script->n_held == FAKE_WINDOW)
        if (!take_release(script, fd))
            return false;
    if (!act(script))
        return false;
    script->held[script->n_held].generation = script->is_copy ? 1 : script->generation;
    script->held[script->n_held++].slot = script->is_copy ? 0 : (uint32_t)step;
    if (script->is_copy)
        fake_copy(fd, epoch, step);
    else
        fake_batch(fd, script->generation, (uint32_t)step, epoch, step);
    return true;
}

static bool send_epoch(struct fake_script *script, int fd, const Leat__OpenRequest *request,
                       uint64_t epoch, uint64_t first, uint64_t *n_sent) {
    if (!script->is_copy) {
        if (!act(script))
            return false;
        script->generation++;
        fake_ring(fd, fake_memfd(FAKE_N_STEPS, epoch, 0, FAKE_ALL_SEALS), script->generation,
                  FAKE_N_STEPS);
    }
    for (uint64_t step = first; step < FAKE_N_STEPS; step++) {
        if (step % request->world_size != request->rank)
            continue;
        if (!send_batch(script, fd, epoch, step))
            return false;
        (*n_sent)++;
        if (request->has_n_steps && *n_sent == request->n_steps)
            return true;
    }
    return true;
}

static void send_epochs(struct fake_script *script, int fd, const Leat__OpenRequest *request) {
    uint64_t first = request->start->step, n_sent = 0;

    script->generation = 0;
    script->n_held = 0;
    for (uint64_t epoch = request->start->epoch;; epoch++, first = 0) {
        bool is_last;

        if (!send_epoch(script, fd, request, epoch, first, &n_sent) || !act(script))
            return;
        is_last = (request->n_epochs && epoch + 1 == request->start->epoch + request->n_epochs) ||
                  (request->has_n_steps && n_sent == request->n_steps);
        fake_end(fd, epoch, is_last);
        if (is_last) {
            fake_wait_for_end(fd);
            return;
        }
    }
}

static bool open_truly(struct fake_script *script, int fd, Leat__OpenRequest **ret_request) {
    if (!act(script))
        return false;
    fake_greet(fd);
    if (!act(script))
        return false;
    *ret_request = fake_take_open(fd);
    if (!*ret_request || !act(script))
        return false;
    fake_opened(fd, FAKE_WINDOW);
    return true;
}

static void serve(int fd, void *argument) {
    struct fake_script *script = argument;
    size_t number = script->n_sessions++;
    bool is_broken = number < script->n_breaks, is_open;
    Leat__OpenRequest *request = NULL;

    script->left = is_broken ? script->budgets[number] : INT_MAX;
    is_open = open_truly(script, fd, &request);
    if (is_open)
        send_epochs(script, fd, request);
    if (request)
        leat__open_request__free_unpacked(request, NULL);
    if (!is_broken || script->hows[number] == FAKE_CLOSE)
        return;
    if (is_open)
        fake_refuse(fd, LEAT_PACKET_GOAWAY, -ESHUTDOWN, "the daemon is draining");
    else
        fake_refuse(fd, LEAT_PACKET_REFUSE,
                    script->hows[number] == FAKE_SHORTAGE ? -EDQUOT : -ESHUTDOWN, "not now");
    (void)shutdown(fd, SHUT_WR);
    fake_wait_for_end(fd);
}

/* ---- the trainer ---- */

static void on_reconnect(void *user, const struct leat_reconnect_event *event) {
    struct fake_trainer *trainer = user;

    assert_int_equal(event->struct_size, sizeof(*event));
    trainer->n_lost += event->kind == LEAT_RECONNECT_LOST;
    trainer->n_tried += event->kind == LEAT_RECONNECT_TRYING;
    trainer->n_back += event->kind == LEAT_RECONNECT_BACK;
    (void)snprintf(trainer->reason, sizeof(trainer->reason), "%s", event->reason);
}

void fake_trainer_options(struct fake_trainer *trainer, struct leat_open_options *options) {
    leat_open_options_init(options);
    options->delivery = trainer->script->is_copy ? LEAT_DELIVERY_COPY : LEAT_DELIVERY_SHARED;
    options->on_reconnect = on_reconnect;
    options->on_reconnect_user = trainer;
    options->reconnect_timeout_ms = FAKE_HANG_MS;
    options->world_size = 1;
}

int fake_trainer_open(struct fake_trainer *trainer, struct fake_script *script,
                      const struct leat_open_options *options) {
    *trainer = (struct fake_trainer){.script = script};
    fake_daemon_start(&trainer->fake, script->is_copy, serve, script);
    assert_int_equal(leat_client_new(trainer->fake.directory, &trainer->client), 0);
    return leat_client_open(trainer->client, "s", options, &trainer->stream);
}

void fake_trainer_close(struct fake_trainer *trainer) {
    leat_stream_close(trainer->stream);
    leat_client_free(trainer->client);
    fake_daemon_stop(&trainer->fake);
    assert_int_equal(trainer->script->n_wrong, 0);
}

void fake_trainer_release(struct fake_trainer *trainer) {
    uint32_t i = (uint32_t)leat_rng_below(&trainer->rng, trainer->n_held);
    struct leat_batch *batch = trainer->held[i];

    fake_check_batch(batch, leat_batch_epoch(batch), leat_batch_step(batch));
    leat_batch_release(batch);
    trainer->held[i] = trainer->held[--trainer->n_held];
}
