/* Shifts the wall clock of a process by the seconds in the file that CLOCK_AHEAD names: 8 bytes, mapped, so that a test
   can change them at any time. The monotonic clock is left as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile int64_t *ahead;

__attribute__((constructor)) static void open_file(void) {
  int file = open(getenv("CLOCK_AHEAD"), O_RDONLY);
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) abort();
  ahead = mapped;
}

static int64_t shift(void) { return ahead ? *ahead : 0; }

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) time->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(time, zone);
  time->tv_sec += shift();
  return result;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
