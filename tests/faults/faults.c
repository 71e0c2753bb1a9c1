/* faults.c: a library to preload. It lets one call of a program fail: an allocation, or a system
 * call with an errno. A test says which by a page of memory that both map.
 *
 * LEAT_FAULTS is the page's file, LEAT_FAULTS_OF the name of the program that is meant. Calls are
 * told apart by their stacks: each arming fails the next call whose stack has not failed yet. The
 * allocators that this library has not are those of the C library.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#define SHOWN      __attribute__((visibility("default")))
#define FRAMES_MAX 24
#define SEEN_MAX   (1U << 16)
#define SHORTER    4096 /* as an errno: the call does less than it was asked to */

/* tests/faults/page.py has the same. */
struct page {
    atomic_uint is_armed;
    int error;
    uint32_t depth;           /* frames by which stacks are told apart */
    uint32_t part, n_parts;   /* fail only the stacks of that part of all */
    atomic_uint n_failed;     /* calls */
    _Atomic int64_t n_blocks; /* of memory that the program holds */
    char call[32];
    char where[4032]; /* the stack that failed last: "OBJECT OFFSET\n" for each frame */
    uint64_t seen[SEEN_MAX];
};

struct stack {
    uint32_t n;
    uintptr_t frames[FRAMES_MAX];
};

static struct page *page;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;
static _Thread_local bool is_inside;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LEAT_FAULTS"), *program = getenv("LEAT_FAULTS_OF");
    void *memory;
    int fd;

    if (!path || !program || strcmp(program, program_invocation_short_name) != 0)
        return;
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        abort();
    memory = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        abort();
    (void)close(fd);
    page = memory;
}

/* ---- which call fails ---- */

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data) {
    struct stack *stack = data;

    stack->frames[stack->n++] = _Unwind_GetIP(context);
    return stack->n < FRAMES_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static uintptr_t start_of(uintptr_t address) {
    struct dl_find_object found;

    return _dl_find_object((void *)address, &found) < 0 ? 0 : (uintptr_t)found.dlfo_map_start;
}

/* The same in each process, wherever it is loaded. */
static uint64_t offset_of(uintptr_t address) {
    return address - start_of(address);
}

/* The innermost frames are this library's. */
static uint32_t count_own(const struct stack *stack) {
    uint32_t n = 0;

    while (n < stack->n && start_of(stack->frames[n]) == start_of((uintptr_t)count_own))
        n++;
    return n;
}

static uint64_t hash_of(const struct stack *stack, uint32_t skip) {
    uint64_t hash = 0xcbf29ce484222325U ^ (uint64_t)(uint32_t)page->error;

    for (const char *c = page->call; *c; c++)
        hash = (hash ^ (uint64_t)(unsigned char)*c) * 0x100000001b3U;
    for (uint32_t i = skip; i < stack->n && i < skip + page->depth; i++)
        hash = (hash ^ offset_of(stack->frames[i])) * 0x9e3779b97f4a7c15U, hash ^= hash >> 29;
    return hash ? hash : 1;
}

/* False: it has been there. */
static bool add_seen(uint64_t hash) {
    uint32_t at = (uint32_t)hash % SEEN_MAX;

    while (page->seen[at] && page->seen[at] != hash)
        at = (at + 1) % SEEN_MAX;
    if (page->seen[at])
        return false;
    page->seen[at] = hash;
    return true;
}

static void tell_where(const struct stack *stack, uint32_t skip) {
    size_t n = 0;

    page->where[0] = 0;
    for (uint32_t i = skip; i < stack->n; i++) {
        Dl_info info = {.dli_fname = NULL};
        int length;

        if (!dladdr((void *)stack->frames[i], &info) || !info.dli_fname)
            continue;
        length = snprintf(page->where + n, sizeof(page->where) - n, "%s %lx\n", info.dli_fname,
                          (unsigned long)(stack->frames[i] - (uintptr_t)info.dli_fbase));
        if (length < 0 || n + (size_t)length >= sizeof(page->where))
            break;
        n += (size_t)length;
    }
}

static bool is_next(void) {
    struct stack stack = {.n = 0};
    bool is_it = false;
    uint32_t n_own;
    uint64_t hash;

    _Unwind_Backtrace(add_frame, &stack);
    n_own = count_own(&stack);
    while (atomic_flag_test_and_set(&is_busy)) {
    }
    hash = hash_of(&stack, n_own);
    if (page->is_armed && (hash >> 20) % page->n_parts == page->part && add_seen(hash)) {
        tell_where(&stack, n_own);
        page->is_armed = 0;
        page->n_failed++;
        is_it = true;
    }
    atomic_flag_clear(&is_busy);
    return is_it;
}

static bool fails(const char *call) {
    bool is_it;

    if (!page || !atomic_load_explicit(&page->is_armed, memory_order_acquire) || is_inside ||
        strcmp(page->call, call) != 0)
        return false;
    is_inside = true;
    is_it = is_next();
    is_inside = false;
    if (is_it)
        errno = page->error;
    return is_it;
}

static bool is_nonblocking(int fd) {
    return syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK;
}

static bool is_stream(int fd) {
    int kind = 0;
    socklen_t n = sizeof(kind);

    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &kind, &n) == 0 && kind == SOCK_STREAM;
}

/* Whether the kernel has such an error for a descriptor of that kind: file, socket, pipe, or one
 * of its own, such as an eventfd. */
static bool has_error(int fd, int error) {
    struct stat status;
    mode_t kind;

    if (syscall(SYS_fstat, fd, &status) < 0)
        return false;
    kind = status.st_mode & S_IFMT;
    switch (error) {
    case EIO:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return kind == S_IFREG;
    case ECONNRESET:
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS:
    case EPIPE:
        return kind == S_IFSOCK;
    case EAGAIN:
        return kind == S_IFSOCK || (kind == S_IFIFO && is_nonblocking(fd));
    case SHORTER:
        return kind == S_IFREG || is_stream(fd);
    default:
        return true;
    }
}

/* The same for a call that moves bytes of a descriptor. */
static bool fails_at(int fd, const char *call) {
    int before = errno;
    bool is_it = page && atomic_load_explicit(&page->is_armed, memory_order_acquire) &&
                 !is_inside && strcmp(page->call, call) == 0 && has_error(fd, page->error);

    errno = before;
    if (!is_it || !fails(call))
        return false;
    before = errno;
    if (before == ECONNRESET || before == EPIPE) /* then the end of the connection follows */
        (void)syscall(SYS_shutdown, fd, SHUT_RDWR);
    errno = before;
    return true;
}

/* The bytes that are carried in place of n. */
static size_t shorter(size_t n) {
    return n > 1 ? n / 2 : n;
}

/* ---- memory ---- */

/* Counts a block if the dynamic loader is not its owner. The loader's tables of threads stay with
 * cached stacks, so their number depends on how many threads were ever alive at once. */
static void count(const void *memory, int n, const void *caller) {
    if (page && memory && start_of((uintptr_t)caller) != getauxval(AT_BASE))
        page->n_blocks += n;
}

static void *counted(void *memory, const void *caller) {
    count(memory, 1, caller);
    return memory;
}

#define CALLER __builtin_return_address(0)

SHOWN void *malloc(size_t size) {
    return fails("malloc") ? NULL : counted(__libc_malloc(size), CALLER);
}

SHOWN void *calloc(size_t n, size_t size) {
    return fails("malloc") ? NULL : counted(__libc_calloc(n, size), CALLER);
}

SHOWN void *realloc(void *memory, size_t size) {
    void *moved;

    if (size > 0 && fails("malloc"))
        return NULL;
    moved = __libc_realloc(memory, size);
    if (!memory)
        count(moved, 1, CALLER);
    if (size == 0)
        count(memory, -1, CALLER);
    return moved;
}

SHOWN void *reallocarray(void *memory, size_t n, size_t size) {
    size_t n_bytes;

    if (__builtin_mul_overflow(n, size, &n_bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, n_bytes);
}

SHOWN void *aligned_alloc(size_t alignment, size_t size) {
    return fails("malloc") ? NULL : counted(__libc_memalign(alignment, size), CALLER);
}

SHOWN void *memalign(size_t alignment, size_t size);
SHOWN void *memalign(size_t alignment, size_t size) {
    return fails("malloc") ? NULL : counted(__libc_memalign(alignment, size), CALLER);
}

SHOWN int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *made = aligned_alloc(alignment, size);

    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

SHOWN void free(void *memory) {
    count(memory, -1, CALLER);
    __libc_free(memory);
}

/* ---- system calls ---- */

#define REAL(name, type, parameters)                                                               \
    static type(*real) parameters;                                                                 \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

/* NAME fails as CALL. */
#define CALL_AS(call, type, failed, name, parameters, arguments)                                   \
    SHOWN type name parameters;                                                                    \
    SHOWN type name parameters {                                                                   \
        REAL(name, type, parameters);                                                              \
        return fails(#call) ? failed : real arguments;                                             \
    }

#define CALL(type, failed, name, parameters, arguments)                                            \
    CALL_AS(name, type, failed, name, parameters, arguments)

/* A call that moves bytes may also move less than asked: its N is made shorter. */
#define MOVES_AS(call, name, parameters, n, arguments)                                             \
    SHOWN ssize_t name parameters;                                                                 \
    SHOWN ssize_t name parameters {                                                                \
        REAL(name, ssize_t, parameters);                                                           \
        if (fails_at(fd, #call)) {                                                                 \
            if (errno != SHORTER)                                                                  \
                return -1;                                                                         \
            n = shorter(n);                                                                        \
        }                                                                                          \
        return real arguments;                                                                     \
    }

/* The same of a call whose bytes are in pieces. */
#define CARRIES_AS(call, name, parameters, arguments)                                              \
    SHOWN ssize_t name parameters;                                                                 \
    SHOWN ssize_t name parameters {                                                                \
        REAL(name, ssize_t, parameters);                                                           \
        return page && page->error != SHORTER && fails_at(fd, #call) ? -1 : real arguments;        \
    }

#define OPENS(name, parameters, last, arguments)                                                   \
    SHOWN int name parameters;                                                                     \
    SHOWN int name parameters {                                                                    \
        REAL(name, int, parameters);                                                               \
        mode_t mode;                                                                               \
        va_list more;                                                                              \
                                                                                                   \
        if (fails("open"))                                                                         \
            return -1;                                                                             \
        va_start(more, last);                                                                      \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
        return real arguments;                                                                     \
    }

OPENS(open, (const char *path, int flags, ...), flags, (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), flags, (path, flags, mode))
OPENS(openat, (int at, const char *path, int flags, ...), flags, (at, path, flags, mode))
OPENS(openat64, (int at, const char *path, int flags, ...), flags, (at, path, flags, mode))
CALL_AS(open, int, -1, __open_2, (const char *path, int flags), (path, flags))
CALL_AS(open, int, -1, __open64_2, (const char *path, int flags), (path, flags))
CALL_AS(open, int, -1, __openat_2, (int at, const char *path, int flags), (at, path, flags))
CALL_AS(open, FILE *, NULL, fopen, (const char *path, const char *how), (path, how))
CALL_AS(open, FILE *, NULL, fopen64, (const char *path, const char *how), (path, how))
CALL_AS(open, FILE *, NULL, fdopen, (int fd, const char *how), (fd, how))
CALL_AS(open, DIR *, NULL, opendir, (const char *path), (path))
CALL_AS(open, DIR *, NULL, fdopendir, (int fd), (fd))
CALL(struct dirent *, NULL, readdir, (DIR * folder), (folder))
CALL_AS(readdir, struct dirent64 *, NULL, readdir64, (DIR * folder), (folder))
CALL_AS(open, int, -1, mkstemp, (char *path), (path))
CALL_AS(open, int, -1, mkstemp64, (char *path), (path))
CALL_AS(open, int, -1, mkostemp, (char *path, int flags), (path, flags))
CALL_AS(open, int, -1, mkostemp64, (char *path, int flags), (path, flags))

MOVES_AS(read, read, (int fd, void *to, size_t n), n, (fd, to, n))
MOVES_AS(read, __read_chk, (int fd, void *to, size_t n, size_t room), n, (fd, to, n, room))
MOVES_AS(pread, pread, (int fd, void *to, size_t n, off_t at), n, (fd, to, n, at))
MOVES_AS(pread, pread64, (int fd, void *to, size_t n, off_t at), n, (fd, to, n, at))
MOVES_AS(pread, __pread_chk, (int fd, void *to, size_t n, off_t at, size_t room), n,
         (fd, to, n, at, room))
MOVES_AS(pread, __pread64_chk, (int fd, void *to, size_t n, off_t at, size_t room), n,
         (fd, to, n, at, room))
MOVES_AS(write, write, (int fd, const void *from, size_t n), n, (fd, from, n))
MOVES_AS(pwrite, pwrite, (int fd, const void *from, size_t n, off_t at), n, (fd, from, n, at))
MOVES_AS(pwrite, pwrite64, (int fd, const void *from, size_t n, off_t at), n, (fd, from, n, at))
CARRIES_AS(read, readv, (int fd, const struct iovec *to, int n), (fd, to, n))
CARRIES_AS(write, writev, (int fd, const struct iovec *from, int n), (fd, from, n))
CARRIES_AS(pread, preadv, (int fd, const struct iovec *to, int n, off_t at), (fd, to, n, at))
CARRIES_AS(pwrite, pwritev, (int fd, const struct iovec *from, int n, off_t at), (fd, from, n, at))
MOVES_AS(send, send, (int fd, const void *from, size_t n, int flags), n, (fd, from, n, flags))
MOVES_AS(recv, recv, (int fd, void *to, size_t n, int flags), n, (fd, to, n, flags))
MOVES_AS(recv, __recv_chk, (int fd, void *to, size_t n, size_t room, int flags), n,
         (fd, to, n, room, flags))
CARRIES_AS(send, sendto,
           (int fd, const void *from, size_t n, int flags, const struct sockaddr *to,
            socklen_t room),
           (fd, from, n, flags, to, room))
CARRIES_AS(send, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
CARRIES_AS(recv, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
CALL(ssize_t, -1, copy_file_range,
     (int from, off64_t *at, int to, off64_t *to_at, size_t n, unsigned flags),
     (from, at, to, to_at, n, flags))
CALL(ssize_t, -1, readlink, (const char *path, char *to, size_t n), (path, to, n))

SHOWN int sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags) {
    REAL(sendmmsg, int, (int, struct mmsghdr *, unsigned, int));

    return page && page->error != SHORTER && fails_at(fd, "send") ? -1
                                                                  : real(fd, messages, n, flags);
}

/* It is closed all the same. */
SHOWN int close(int fd) {
    REAL(close, int, (int));
    bool is_it = fails("close");
    int error = errno, r = real(fd);

    if (!is_it)
        return r;
    errno = error;
    return -1;
}

CALL(int, -1, stat, (const char *path, struct stat *to), (path, to))
CALL_AS(stat, int, -1, stat64, (const char *path, struct stat64 *to), (path, to))
CALL_AS(stat, int, -1, lstat, (const char *path, struct stat *to), (path, to))
CALL_AS(stat, int, -1, lstat64, (const char *path, struct stat64 *to), (path, to))
CALL(int, -1, fstat, (int fd, struct stat *to), (fd, to))
CALL_AS(fstat, int, -1, fstat64, (int fd, struct stat64 *to), (fd, to))
CALL_AS(stat, int, -1, fstatat, (int at, const char *path, struct stat *to, int flags),
        (at, path, to, flags))
CALL_AS(stat, int, -1, statx,
        (int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict to),
        (at, path, flags, mask, to))
CALL(int, -1, statvfs, (const char *path, struct statvfs *to), (path, to))
CALL_AS(statvfs, int, -1, fstatvfs, (int fd, struct statvfs *to), (fd, to))
CALL_AS(statvfs, int, -1, fstatfs, (int fd, struct statfs *to), (fd, to))
CALL_AS(statvfs, int, -1, fstatfs64, (int fd, struct statfs64 *to), (fd, to))
CALL(int, -1, access, (const char *path, int how), (path, how))
CALL_AS(access, int, -1, faccessat, (int at, const char *path, int how, int flags),
        (at, path, how, flags))
CALL(char *, NULL, realpath, (const char *path, char *to), (path, to))
CALL_AS(realpath, char *, NULL, __realpath_chk, (const char *path, char *to, size_t n),
        (path, to, n))
CALL(char *, NULL, getcwd, (char *to, size_t n), (to, n))

CALL(int, -1, unlink, (const char *path), (path))
CALL_AS(unlink, int, -1, unlinkat, (int at, const char *path, int flags), (at, path, flags))
CALL_AS(unlink, int, -1, rmdir, (const char *path), (path))
CALL(int, -1, rename, (const char *from, const char *to), (from, to))
CALL_AS(rename, int, -1, renameat, (int at, const char *from, int to_at, const char *to),
        (at, from, to_at, to))
CALL_AS(rename, int, -1, renameat2,
        (int at, const char *from, int to_at, const char *to, unsigned flags),
        (at, from, to_at, to, flags))
CALL_AS(rename, int, -1, link, (const char *from, const char *to), (from, to))
CALL_AS(rename, int, -1, linkat, (int at, const char *from, int to_at, const char *to, int flags),
        (at, from, to_at, to, flags))
CALL(int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
CALL_AS(mkdir, int, -1, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
CALL_AS(mkdir, char *, NULL, mkdtemp, (char *path), (path))
CALL(int, -1, chmod, (const char *path, mode_t mode), (path, mode))
CALL_AS(chmod, int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
CALL_AS(chmod, int, -1, chown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
CALL_AS(chmod, int, -1, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))
CALL(int, -1, futimens, (int fd, const struct timespec times[2]), (fd, times))
CALL_AS(futimens, int, -1, utimensat,
        (int at, const char *path, const struct timespec times[2], int flags),
        (at, path, times, flags))
CALL(int, -1, ftruncate, (int fd, off_t n), (fd, n))
CALL_AS(ftruncate, int, -1, ftruncate64, (int fd, off64_t n), (fd, n))
CALL(int, -1, fsync, (int fd), (fd))
CALL_AS(fsync, int, -1, fdatasync, (int fd), (fd))
CALL(int, -1, flock, (int fd, int how), (fd, how))
CALL(off_t, -1, lseek, (int fd, off_t at, int from), (fd, at, from))
CALL_AS(lseek, off64_t, -1, lseek64, (int fd, off64_t at, int from), (fd, at, from))
CALL(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))

SHOWN void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    REAL(mmap, void *, (void *, size_t, int, int, int, off_t));
    return fails("mmap") ? MAP_FAILED : real(at, n, protection, flags, fd, offset);
}

CALL(int, -1, mprotect, (void *memory, size_t n, int how), (memory, n, how))
CALL(int, -1, madvise, (void *memory, size_t n, int how), (memory, n, how))

#define VARIADIC(name, type)                                                                       \
    SHOWN int name(int fd, type what, ...);                                                        \
    SHOWN int name(int fd, type what, ...) {                                                       \
        REAL(name, int, (int, type, ...));                                                         \
        void *argument;                                                                            \
        va_list more;                                                                              \
                                                                                                   \
        if (fails(strncmp(#name, "fcntl", 5) == 0 ? "fcntl" : #name))                              \
            return -1;                                                                             \
        va_start(more, what);                                                                      \
        argument = va_arg(more, void *);                                                           \
        va_end(more);                                                                              \
        return real(fd, what, argument);                                                           \
    }

VARIADIC(fcntl, int)
VARIADIC(fcntl64, int)
VARIADIC(ioctl, unsigned long)

CALL(int, -1, socket, (int domain, int kind, int protocol), (domain, kind, protocol))
CALL_AS(socket, int, -1, socketpair, (int domain, int kind, int protocol, int ends[2]),
        (domain, kind, protocol, ends))
CALL(int, -1, bind, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n))
CALL(int, -1, listen, (int fd, int n), (fd, n))
CALL(int, -1, accept4, (int fd, struct sockaddr *address, socklen_t *n, int flags),
     (fd, address, n, flags))
CALL_AS(accept4, int, -1, accept, (int fd, struct sockaddr *address, socklen_t *n),
        (fd, address, n))
CALL(int, -1, connect, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n))
CALL(int, -1, getsockopt, (int fd, int level, int name, void *value, socklen_t *n),
     (fd, level, name, value, n))
CALL(int, -1, setsockopt, (int fd, int level, int name, const void *value, socklen_t n),
     (fd, level, name, value, n))
CALL(int, -1, getsockname, (int fd, struct sockaddr *address, socklen_t *n), (fd, address, n))
CALL_AS(getsockname, int, -1, getpeername, (int fd, struct sockaddr *address, socklen_t *n),
        (fd, address, n))
CALL(int, -1, shutdown, (int fd, int how), (fd, how))

CALL(int, -1, epoll_create1, (int flags), (flags))
CALL(int, -1, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *event),
     (epoll, what, fd, event))
CALL(int, -1, epoll_wait, (int epoll, struct epoll_event *events, int n, int ms),
     (epoll, events, n, ms))
CALL_AS(epoll_wait, int, -1, epoll_pwait,
        (int epoll, struct epoll_event *events, int n, int ms, const sigset_t *set),
        (epoll, events, n, ms, set))
CALL(int, -1, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
CALL_AS(poll, int, -1, __poll_chk, (struct pollfd * fds, nfds_t n, int ms, size_t room),
        (fds, n, ms, room))
CALL_AS(poll, int, -1, ppoll,
        (struct pollfd * fds, nfds_t n, const struct timespec *time, const sigset_t *set),
        (fds, n, time, set))
CALL(int, -1, eventfd, (unsigned n, int flags), (n, flags))
CALL(int, -1, timerfd_create, (int clock, int flags), (clock, flags))
CALL(int, -1, pipe2, (int ends[2], int flags), (ends, flags))
CALL_AS(pipe2, int, -1, pipe, (int ends[2]), (ends))
CALL_AS(dup, int, -1, dup, (int fd), (fd))
CALL_AS(dup, int, -1, dup2, (int fd, int to), (fd, to))
CALL_AS(dup, int, -1, dup3, (int fd, int to, int flags), (fd, to, flags))

CALL(int, -1, timerfd_settime,
     (int fd, int flags, const struct itimerspec *new, struct itimerspec *old),
     (fd, flags, new, old))
CALL(int, -1, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags))
CALL(int, -1, inotify_init1, (int flags), (flags))
CALL(int, -1, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask))

CALL(pid_t, -1, fork, (void), ())
CALL(int, -1, execvp, (const char *path, char *const arguments[]), (path, arguments))
CALL_AS(execvp, int, -1, execve,
        (const char *path, char *const arguments[], char *const variables[]),
        (path, arguments, variables))
CALL(int, page->error, posix_spawn,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[]),
     (pid, path, actions, attributes, arguments, variables))
CALL_AS(posix_spawn, int, page->error, posix_spawnp,
        (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const arguments[], char *const variables[]),
        (pid, path, actions, attributes, arguments, variables))
CALL(int, -1, pidfd_open, (pid_t pid, unsigned flags), (pid, flags))
CALL(pid_t, -1, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
CALL(int, -1, kill, (pid_t pid, int number), (pid, number))
CALL(int, -1, getrlimit, (__rlimit_resource_t what, struct rlimit *to), (what, to))
CALL_AS(getrlimit, int, -1, getrlimit64, (__rlimit_resource_t what, struct rlimit64 *to),
        (what, to))
CALL(int, -1, setrlimit, (__rlimit_resource_t what, const struct rlimit *to), (what, to))
CALL_AS(setrlimit, int, -1, setrlimit64, (__rlimit_resource_t what, const struct rlimit64 *to),
        (what, to))
CALL(int, -1, sched_getaffinity, (pid_t pid, size_t n, cpu_set_t *set), (pid, n, set))
CALL(int, page->error, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *data),
     (thread, attributes, start, data))
CALL(ssize_t, -1, getrandom, (void *to, size_t n, unsigned flags), (to, n, flags))

SHOWN long syscall(long number, ...) {
    REAL(syscall, long, (long, ...));
    long arguments[6];
    va_list more;

    if (fails("syscall"))
        return -1;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(more, long);
    va_end(more);
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}
