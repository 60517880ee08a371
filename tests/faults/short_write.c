/* Preloaded into a command under test. The Nth write to a file below a directory takes only half of the bytes,
   which the kernel may do at any time. The clock can also be shifted by some seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long seen;

static int is_below(int fd) {
    char link[64], path[4096];
    const char *top = getenv("REWIND_SHORT_BELOW");
    if (!top) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, path, sizeof path - 1);
    if (got < 0) return 0;
    path[got] = 0;
    return strncmp(path, top, strlen(top)) == 0;
}

static size_t cut(int fd, size_t count) {
    const char *wanted = getenv("REWIND_SHORT_WRITE"), *log = getenv("REWIND_SHORT_LOG");
    if (!wanted || !is_below(fd) || ++seen != atol(wanted)) return count;
    int out = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (out >= 0) {
        syscall(SYS_write, out, "short\n", 6);
        close(out);
    }
    return count > 1 ? count / 2 : count;
}

ssize_t write(int fd, const void *data, size_t count) { return syscall(SYS_write, fd, data, cut(fd, count)); }

ssize_t pwrite(int fd, const void *data, size_t count, off_t at) {
    return syscall(SYS_pwrite64, fd, data, cut(fd, count), at);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off_t at) {
    return syscall(SYS_pwrite64, fd, data, cut(fd, count), at);
}

static long shift(void) {
    const char *seconds = getenv("REWIND_CLOCK_SHIFT");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, clock, at);
    if (!failed && clock == CLOCK_REALTIME) at->tv_sec += shift();
    return failed;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
