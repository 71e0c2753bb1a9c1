/* process.h: what the system says of this process and the memory it may use. Reads small files of
 * /proc and /sys, which do not block. Any thread. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct leat_process {
    uint64_t rss_bytes, hwm_bytes; /* shared pages included */
    uint64_t cpu_ns;
    uint32_t n_fds;
};

void leat_process_read(struct leat_process *ret_process);
/* But for n_fds, of which there may be thousands to count. */
void leat_process_read_usage(struct leat_process *ret_process);

/* The memory that this process can have: of the machine, or what the nearest control group allows.
 * 0: unknown. */
uint64_t leat_process_memory_limit(void);

/* Memory that can be had now without taking it from others; UINT64_MAX: unknown. */
uint64_t leat_process_available_bytes(void);

/* Raises the number of descriptors to what is allowed, and returns it. */
uint64_t leat_process_raise_descriptors(void);

/* Raises the number of descriptors, and makes the kernel's table of them as large as it may become,
 * up to 65,536 entries. Call it before the first thread starts: a table that several threads share
 * grows only after an RCU grace period, for which the loop would wait up to 50 ms in accept(). */
void leat_process_reserve_descriptors(void);

/* How long the first thread of a process was ready to run and did not, since it began
 * (/proc/PID/schedstat); 0: unknown. */
uint64_t leat_process_delay_ns(pid_t pid);

/* The control group of another process, as /user.slice/.../train.service; malloc'ed. NULL: it has
 * gone, is of another pid namespace (0), or not to be seen from here. */
char *leat_process_unit(pid_t pid);
