/* machine.h: the processors that this process may use, and how busy they are. Reads small files of
 * /proc and /sys, which do not block. Any thread. */
#pragma once

#include <stdint.h>

#define LEAT_MACHINE_UNKNOWN UINT64_MAX

/* Processors that the process may run on; fewer if its control groups allow less time. */
double leat_machine_n_cpus(void);

/* The time that these were busy since the machine started, all together, in steps of 10 ms. Time
 * that a hypervisor gave to other machines counts. Or LEAT_MACHINE_UNKNOWN. */
uint64_t leat_machine_busy_ns(void);
