/* shared_control.h: a leatctl by hand: requests and replies of the control socket, one frame each.
 */
#pragma once

#include "proto/frame.h"
#include "tests/daemon/shared_daemon.h"

int test_control_connect(const struct test_daemon *test);

/* A frame of it in `bytes`; its size. */
size_t test_control_pack(const Leat__ControlRequest *request, uint8_t *bytes);
void test_control_send(int fd, const void *bytes, size_t n_bytes);
/* The next reply, or NULL at the end of the connection. */
Leat__ControlReply *test_control_receive(int fd);
/* The reply to a request, of version 1. */
Leat__ControlReply *test_control_ask(int fd, Leat__ControlRequest *request);

/* The next reply is of that kind; is an error that says this. */
void test_control_expect(int fd, Leat__ControlReply__VerbCase verb);
void test_control_expect_error(int fd, const char *says);
