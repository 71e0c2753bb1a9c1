/* process.h: what the system reports about this process and the memory it may use. Reads small
 * files of /proc and /sys, which do not block. Any thread. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct leat_process {
    uint64_t rss_bytes, hwm_bytes; /* shared pages included */
    uint64_t cpu_ns;
    uint32_t n_fds;
};

void leat_process_read(struct leat_process *ret_process);
/* The same without n_fds: there may be thousands of descriptors to count. */
void leat_process_read_usage(struct leat_process *ret_process);

/* The memory that this process can have: that of the machine, or what its control groups allow. 0:
 * unknown. */
uint64_t leat_process_memory_limit(void);

/* Memory that is available now without taking it from others; UINT64_MAX: unknown. */
uint64_t leat_process_available_bytes(void);

/* Raises the limit of descriptors to what is allowed, and returns it. */
uint64_t leat_process_raise_descriptors(void);

/* An eventfd with the highest number that is allowed, up to 65,535, for the caller to close; or
 * -errno. Raises the limit of descriptors. */
int leat_process_widest_descriptor(void);

/* Raises the limit of descriptors, and lets the kernel's table of them grow at once, up to 65,536
 * entries. Call it before the first thread starts: a table that several threads share grows only
 * after an RCU grace period, for which the loop would wait up to 50 ms in accept(). */
void leat_process_reserve_descriptors(void);

/* The time in which the first thread of a process was ready to run but did not, since it started
 * (/proc/PID/schedstat); 0: unknown. */
uint64_t leat_process_delay_ns(pid_t pid);

/* The control group of another process, as /user.slice/.../train.service; malloc'ed. NULL: the
 * process has ended, is in another pid namespace (pid 0), or is not visible from here. */
char *leat_process_unit(pid_t pid);

/* The processor time of the calling thread, and how often it waited. Any thread. */
struct leat_usage {
    uint64_t cpu_ns;
    uint64_t n_blocked;   /* times that it went to sleep (disk, pipe, lock) */
    uint64_t n_displaced; /* times that another thread took its processor */
};

void leat_usage_read(struct leat_usage *ret_usage);

/* Splits the time between two looks: on a processor, ready to run but displaced, and the rest,
 * blocked. Each time that the thread lost its processor is taken to have cost the same. */
void leat_usage_split(const struct leat_usage *before, const struct leat_usage *after,
                      uint64_t wall_ns, uint64_t *ret_cpu_ns, uint64_t *ret_delay_ns);
