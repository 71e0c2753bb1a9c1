/* shared_daemon.h: a daemon on a thread of the test, and a trainer that speaks packets by hand. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/core/daemon.h"
#include "proto/leat.pb-c.h"

struct test_daemon {
    char folder[64]; /* of its own: leatd.yaml, the data, the sockets, leatd.log */
    int log_fd;
    struct leat_daemon *daemon;
    pthread_t thread;
    int result; /* of its run */
};

#define TEST_HANG_S 120 /* nothing that goes on at all takes so long */

#define TEST_N_LISTS        120
#define TEST_LIST_LENGTH(i) (1 + (i) * (i) / 2)

/* Stream "numbers": one int64 column, n_records of them, 4 a batch. Stream "lists": ever longer
 * lists, 2 a batch, padded to the longest. settings: further YAML lines. */
void test_daemon_start(struct test_daemon *test, unsigned n_records, const char *settings);
void test_daemon_stop(struct test_daemon *test);
/* Waits until it ends by itself; it must, and leave nothing behind. */
void test_daemon_join(struct test_daemon *test);
/* What it logged so far; free it. */
char *test_daemon_log(const struct test_daemon *test);
/* Asks for its status on the control socket. */
void test_daemon_status(const struct test_daemon *test, Leat__StatusReply **ret_status);
/* Waits until this holds; `what` says what did not. */
void test_daemon_wait(const struct test_daemon *test,
                      bool (*holds)(const Leat__StatusReply *status, uint64_t number),
                      uint64_t number, const char *what);
/* Waits until the daemon says that no session is left and no slot taken. */
void test_daemon_wait_idle(const struct test_daemon *test);

int test_connect(const struct test_daemon *test, const char *socket_name, int type);
void test_send(int fd, const struct leat_packet *packet, const void *payload);
/* The next packet; kind 0 at the end of file. Payload of up to LEAT_PACKET_PAYLOAD_MAX. */
uint16_t test_receive(int fd, struct leat_packet *ret_packet, void *ret_payload, int *ret_fd);
struct leat_packet test_hello(void);
/* OPEN of a stream by name. */
void test_send_open(int fd, const char *stream, uint32_t window, uint64_t n_epochs);
/* A connection that was welcomed; one whose stream was opened. */
int test_welcome(const struct test_daemon *test);
int test_open(const struct test_daemon *test, const char *stream, uint32_t window,
              uint64_t n_epochs);
/* The next BATCH, past RING and END. */
struct leat_packet test_next_batch(int fd);
void test_release(int fd, const struct leat_packet *batch);
/* Receives until the connection ends; whether a REFUSE or GOAWAY was there, its text in `text`. */
bool test_expect_error(int fd, char *text, size_t size);
