/* shared_fake_daemon.h: a daemon for tests of libleat: a thread that listens in a folder of its own
 * and follows a script, which may lie. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "client/leat.h"
#include "proto/leat.pb-c.h"
#include "proto/packet.h"
#include "proto/slot.h"

#define FAKE_FILES      "12\t0123456789abcdef\t\"a.csv\"\n"
#define FAKE_HANG_MS    120000 /* nothing that comes at all takes so long */
#define FAKE_SLOT_BYTES 4096
#define FAKE_ALL_SEALS  (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

struct fake_daemon {
    char directory[64]; /* the address for libleat */
    int listener;
    pthread_t thread;
    /* each connection in turn, which is closed behind it */
    void (*serve)(int fd, void *argument);
    void *argument;
    int is_stream;
};

/* is_stream: copy.sock, else trainer.sock. */
void fake_daemon_start(struct fake_daemon *fake, int is_stream, void (*serve)(int, void *),
                       void *argument);
/* Waits for the script's end and removes the folder. */
void fake_daemon_stop(struct fake_daemon *fake);

/* What scripts are made of, for either kind of socket. They assert that they succeed. */
void fake_send(int fd, const struct leat_packet *packet, const void *payload, int pass_fd);
/* Returns 0 at end of file. */
int fake_receive(int fd, struct leat_packet *ret_packet);
void fake_greet(int fd);                   /* HELLO in, WELCOME out */
void fake_open(int fd, uint32_t window);   /* greet, OPEN in, OPENED with one tensor "x" out */
Leat__OpenRequest *fake_take_open(int fd); /* OPEN in; NULL at end of file; to be freed */
void fake_opened(int fd, uint32_t window); /* OPENED out */
void fake_refuse(int fd, uint16_t kind, int code, const char *message);
void fake_ring(int fd, int memfd, uint64_t generation, uint32_t n_slots);
void fake_batch(int fd, uint64_t generation, uint32_t slot, uint64_t epoch, uint64_t step);
void fake_copy(int fd, uint64_t epoch, uint64_t step);
void fake_end(int fd, uint64_t epoch, uint32_t is_last);
void fake_wait_for_end(int fd); /* until the client closes */

/* A ring of n_slots slots; slot i holds batch (epoch, first_step + i). */
int fake_memfd(uint32_t n_slots, uint64_t epoch, uint64_t first_step, int seals);
/* The batch that lies in every slot: tensor "x", int32 [2, 3], values step + 0..5. Its used bytes.
 */
size_t fake_fill_slot(void *slot, uint64_t epoch, uint64_t step);
/* Asserts that it is such a batch. */
void fake_check_batch(const struct leat_batch *batch, uint64_t epoch, uint64_t step);

/* A daemon, and the stream "s" that is opened there. */
struct fake_session {
    struct fake_daemon fake;
    struct leat_client *client;
    struct leat_stream *stream;
};

/* What leat_client_open() returns; options: NULL: the usual ones. */
int fake_session_try(struct fake_session *session, int is_stream, void (*serve)(int, void *),
                     void *argument, struct leat_open_options *options);
void fake_session_begin(struct fake_session *session, int is_stream, void (*serve)(int, void *),
                        void *argument, struct leat_open_options *options);
struct leat_batch *fake_session_next(struct fake_session *session);
void fake_session_end(struct fake_session *session);
