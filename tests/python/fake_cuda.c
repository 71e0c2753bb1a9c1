/* fake_cuda.c: as much of libcuda.so.1 as leat calls, without a GPU: "device memory" is malloc's,
 * and what is queued on a stream is done when the test says so (fake_advance) or somebody
 * synchronises. What real CUDA would refuse is refused: no current context, memory that was never
 * allocated. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define API __attribute__((visibility("default")))

enum {
    OK = 0,
    INVALID = 1,
    NO_MEMORY = 2,
    NO_DEVICE = 101,
    NO_CONTEXT = 201,
    NOT_READY = 600,
    REFUSED = 801
};
enum { MAX_OPS = 4096, MAX_EVENTS = 1 << 20 };

struct fake_op {
    int event; /* that it sets; 0: it is a copy */
    void *to;
    const void *from;
    size_t n_bytes;
};

static struct {
    int n_registered, n_unregistered, n_allocated, n_freed, n_copies, n_waits, n_streams, n_events;
    int last_flags,
        n_unmapped; /* rings whose memory was gone already when they were unregistered */
    const void *registered;
    size_t registered_bytes;
    void *last_wait_stream;
} told;
static int can_register = 1, refuse_register, fail_copy_at, context;
static struct fake_op ops[MAX_OPS];
static int first_op, n_ops, n_events;
static char is_set[MAX_EVENTS];
static _Thread_local int depth;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- for the test ---- */

API void *fake_told(void) {
    return &told;
}
API void fake_can_register(int yes) {
    can_register = yes;
}
API void fake_refuse_register(int result) {
    refuse_register = result;
}
API void fake_fail_copy(int at) {
    fail_copy_at = at;
}
API int fake_depth(void) {
    return depth;
}

static void step(void) {
    const struct fake_op *op = &ops[first_op++ % MAX_OPS];

    if (op->event)
        is_set[op->event] = 1;
    else
        memcpy(op->to, op->from, op->n_bytes);
}

API int fake_advance(int n) {
    int done = 0;

    pthread_mutex_lock(&mutex);
    for (; done < n && first_op < n_ops; done++)
        step();
    pthread_mutex_unlock(&mutex);
    return done;
}

/* ---- CUDA ---- */

API int cuInit(unsigned flags) {
    return flags ? INVALID : OK;
}

API int cuGetErrorName(int result, const char **name) {
    *name = result == NO_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT" : "CUDA_ERROR_OF_THE_TEST";
    return OK;
}

API int cuGetErrorString(int result, const char **text) {
    *text = result == NO_CONTEXT ? "no context" : "as the test wanted";
    return OK;
}

API int cuDeviceGet(int *device, int ordinal) {
    return *device = ordinal, ordinal < 2 && ordinal >= 0 ? OK : NO_DEVICE;
}
API int cuDeviceGetName(char *name, int size, int device) {
    return snprintf(name, size, "Fake %d", device), OK;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 113 ? can_register : 0;
    return OK;
}

API int cuDevicePrimaryCtxRetain(void **ret, int device) {
    return (void)device, *ret = &context, OK;
}
API int cuDevicePrimaryCtxRelease_v2(int device) {
    return (void)device, OK;
}
API int cuCtxPushCurrent_v2(void *what) {
    return what == &context ? depth++, OK : INVALID;
}
API int cuCtxPopCurrent_v2(void **ret) {
    return *ret = &context, depth-- > 0 ? OK : INVALID;
}

API int cuMemHostRegister_v2(void *memory, size_t n_bytes, unsigned flags) {
    if (depth < 1)
        return NO_CONTEXT;
    if (refuse_register)
        return refuse_register;
    if (!can_register || !(flags & 8))
        return REFUSED;
    told.n_registered++;
    told.last_flags = (int)flags;
    told.registered = memory;
    told.registered_bytes = n_bytes;
    return OK;
}

API int cuMemHostUnregister(void *memory) {
    unsigned char present;

    if (depth < 1)
        return NO_CONTEXT;
    told.n_unregistered++;
    told.n_unmapped += mincore(memory, 4096, &present) != 0;
    return OK;
}

API int cuMemAlloc_v2(unsigned long long *ret, size_t n_bytes) {
    if (depth < 1 || n_bytes == 0)
        return depth < 1 ? NO_CONTEXT : INVALID;
    told.n_allocated++;
    *ret = (uintptr_t)malloc(n_bytes);
    return *ret ? OK : NO_MEMORY;
}

API int cuMemFree_v2(unsigned long long address) {
    if (depth < 1)
        return NO_CONTEXT;
    told.n_freed++;
    free((void *)(uintptr_t)address);
    return OK;
}

static int queue(struct fake_op op) {
    int r = OK;

    pthread_mutex_lock(&mutex);
    if (n_ops - first_op >= MAX_OPS)
        r = NO_MEMORY;
    else
        ops[n_ops++ % MAX_OPS] = op;
    pthread_mutex_unlock(&mutex);
    return r;
}

API int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n_bytes,
                             void *stream) {
    if (depth < 1 || !stream || !to)
        return depth < 1 ? NO_CONTEXT : INVALID;
    if (fail_copy_at && --fail_copy_at == 0)
        return INVALID;
    told.n_copies++;
    return queue((struct fake_op){.to = (void *)(uintptr_t)to, .from = from, .n_bytes = n_bytes});
}

API int cuStreamCreate(void **ret, unsigned flags) {
    *ret = malloc(1);
    told.n_streams++;
    return depth < 1 ? NO_CONTEXT : flags == 1 ? OK : INVALID;
}

API int cuStreamDestroy_v2(void *stream) {
    return free(stream), told.n_streams--, depth < 1 ? NO_CONTEXT : OK;
}

API int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)event;
    told.n_waits++;
    told.last_wait_stream = stream;
    return depth < 1 ? NO_CONTEXT : flags ? INVALID : OK;
}

API int cuEventCreate(void **ret, unsigned flags) {
    if (depth < 1 || flags != 2)
        return depth < 1 ? NO_CONTEXT : INVALID;
    if (++n_events >= MAX_EVENTS)
        return NO_MEMORY;
    told.n_events++;
    *ret = (void *)(uintptr_t)n_events;
    return OK;
}

API int cuEventDestroy_v2(void *event) {
    return (void)event, told.n_events--, depth < 1 ? NO_CONTEXT : OK;
}
API int cuEventRecord(void *event, void *stream) {
    return depth < 1 || !stream ? NO_CONTEXT
                                : queue((struct fake_op){.event = (int)(uintptr_t)event});
}

API int cuEventQuery(void *event) {
    return depth < 1 ? NO_CONTEXT : is_set[(uintptr_t)event] ? OK : NOT_READY;
}

API int cuEventSynchronize(void *event) {
    if (depth < 1)
        return NO_CONTEXT;
    while (!is_set[(uintptr_t)event] && fake_advance(1) > 0)
        ;
    return OK;
}
