/* daemon_process.h: a leatd of the benchmark's own, and what the kernel and leatctl tell about it.
 * One thread.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct daemon_process {
    pid_t pid;
    char directory[256]; /* its sockets and its configuration; removed by stop */
    const char *bin;     /* folder of leatd and leatctl */
};

/* Writes `config` to a file, starts leatd on it with its sockets in a folder of its own, and waits
 * until it answers. config_path, if not NULL, is used in place of config. Ends the process with a
 * message if that fails: there is nothing to measure then. */
void daemon_process_start(struct daemon_process *daemon, const char *bin, const char *config,
                          const char *config_path, unsigned n_workers);
void daemon_process_stop(struct daemon_process *daemon);

/* What `leatctl WORDS` prints, for this daemon; malloc'ed, without the last line end. */
char *daemon_process_ask(const struct daemon_process *daemon, const char *words);
/* The number behind "key": in a JSON text, the first one; 0 if there is none. */
double json_number(const char *json, const char *key);

double daemon_process_cpu_s(const struct daemon_process *daemon);
/* VmHWM: the most memory it ever had, shared pages included. */
uint64_t daemon_process_hwm_bytes(const struct daemon_process *daemon);

/* CPU time of this process. */
double own_cpu_s(void);
double now_s(void);

/* Ends the process with a message. */
__attribute__((format(printf, 1, 2), noreturn)) void give_up(const char *format, ...);
