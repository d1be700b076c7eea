/* Steps the wall clock of a program that is started with this library in LD_PRELOAD (or /etc/ld.so.preload).
   The offset in seconds is one double in the file that AUDIT_TEST_CLOCK names, else /run/test-clock/offset; it may be
   changed while the program runs. Monotonic clocks are left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const double *offset;

__attribute__((constructor)) static void open_offset(void)
{
    const char *path = getenv("AUDIT_TEST_CLOCK");
    int file = open(path ? path : "/run/test-clock/offset", O_RDONLY | O_CLOEXEC);
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (page != MAP_FAILED)
        offset = page;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    if (rc == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        double whole = floor(*offset);
        now->tv_sec += (time_t)whole;
        now->tv_nsec += (long)((*offset - whole) * 1e9);
        if (now->tv_nsec >= 1000000000L) {
            now->tv_nsec -= 1000000000L;
            now->tv_sec++;
        }
    }
    return rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    now->tv_sec = t.tv_sec;
    now->tv_usec = t.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
