/*
 * Loaded into a process (LD_PRELOAD), this makes its disk fail, ends it at a chosen point of a save, and moves its clock, while it runs.
 *
 * SVC_FAULTS_CONTROL names a file of the harness that holds a `struct control`; what is written there counts at once.
 * SVC_FAULTS_FILES is the beginning of the paths whose disk fails: no other file is touched.
 *
 * A power cut puts back everything that was written since the last fsync of its file, or half of its sectors, and then kills. For
 * that, what a write replaces is kept in memory until the next fsync. Bun writes databases by pwrite64 of libc and so through here;
 * its node:fs writes by a system call of its own, of which only the fsync comes through here.
 *
 * Only the wall clock moves: CLOCK_MONOTONIC, timeouts and sleeps stay as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { never, before_sync, after_sync, mid_write, power_cut, torn_power_cut };

/* Its offsets are those of preload.ts. */
struct control {
  int64_t clock_ms;
  int32_t refuse_writes, refuse_syncs; /* an errno, or 0 */
  int32_t die, countdown;              /* where to end, and at which time that this place is reached */
  uint32_t seed;
  uint32_t writes, syncs; /* how many came through here */
};

static volatile struct control *control;
static const char *files;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name)                                            \
  ({                                                          \
    static __typeof__(&name) real;                            \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    real;                                                     \
  })

__attribute__((constructor)) static void attach(void) {
  const char *path = getenv("SVC_FAULTS_CONTROL");
  files = getenv("SVC_FAULTS_FILES");
  if (!path || !files) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  void *place = fd < 0 ? MAP_FAILED : mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (place == MAP_FAILED) {
    dprintf(2, "SVC_FAULTS_CONTROL %s cannot be used: %s\n", path, strerror(errno));
    abort();
  }
  close(fd);
  control = place;
}

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && !strcmp(text + length - tail, end);
}

/* The path of a file whose disk may fail. SQLite rebuilds `-shm` after a crash, and `.lock` has no content. */
static int is_ours(int fd, char path[PATH_MAX]) {
  if (!control || fd < 3) return 0;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return !strncmp(path, files, strlen(files)) && !ends_with(path, "-shm") && !ends_with(path, ".lock");
}

/* What a write replaced, newest first. */
struct undo {
  struct undo *next;
  off64_t at, size_before;
  size_t length;
  char *path, *old;
};
static struct undo *undos;

/* Reads by the descriptor that writes: to open and close the file once more would give up SQLite's locks on it. */
static void remember(int fd, const char *path, off64_t at, size_t length) {
  struct stat64 before;
  struct undo *undo = malloc(sizeof *undo);
  /* What the file did not have yet stays zero. */
  char *old = calloc(1, length + 1);
  if (!undo || !old || fstat64(fd, &before) || pread64(fd, old, length, at) < 0) abort();
  *undo = (struct undo){undos, at, before.st_size, length, strdup(path), old};
  undos = undo;
}

/* What is synced stays. */
static void forget(const char *path) {
  for (struct undo **at = &undos; *at;) {
    struct undo *undo = *at;
    if (strcmp(undo->path, path)) {
      at = &undo->next;
      continue;
    }
    *at = undo->next;
    free(undo->path);
    free(undo->old);
    free(undo);
  }
}

enum { sector = 512 };

/* Whether a sector was on the disk before the power went: the same answer for every write to it. */
static int survives(const char *path, off64_t at) {
  uint32_t hash = control->seed ^ 0x811c9dc5;
  for (; *path; path++) hash = (hash ^ (unsigned char)*path) * 0x01000193;
  hash = (hash ^ (uint32_t)(at / sector)) * 0x85ebca6b;
  return (hash ^ hash >> 15) & 1;
}

static void put_back(int torn) {
  for (struct undo *undo = undos; undo; undo = undo->next) {
    int fd = open(undo->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) continue;
    for (size_t done = 0, part; done < undo->length; done += part) {
      off64_t at = undo->at + done;
      part = sector - at % sector;
      if (part > undo->length - done) part = undo->length - done;
      if (torn && survives(undo->path, at)) continue;
      if (REAL(pwrite64)(fd, undo->old + done, part, at) < 0) abort();
    }
    if (!torn && REAL(ftruncate64)(fd, undo->size_before)) abort();
  }
}

static void end_here(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* Counts a place at which the process may have to end. */
static int is_due(int die) { return control->die == die && --control->countdown <= 0; }

static void end_by_power_cut(void) {
  if (!is_due(power_cut) && !is_due(torn_power_cut)) return;
  put_back(control->die == torn_power_cut);
  end_here();
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  char path[PATH_MAX];
  if (!is_ours(fd, path)) return REAL(pwrite64)(fd, bytes, length, at);
  if (control->refuse_writes) {
    errno = control->refuse_writes;
    return -1;
  }
  pthread_mutex_lock(&mutex);
  control->writes++;
  if (is_due(mid_write)) {
    if (REAL(pwrite64)(fd, bytes, length / 2, at) < 0) abort();
    end_here();
  }
  remember(fd, path, at, length);
  ssize_t written = REAL(pwrite64)(fd, bytes, length, at);
  end_by_power_cut();
  pthread_mutex_unlock(&mutex);
  return written;
}

int ftruncate64(int fd, off64_t size) {
  char path[PATH_MAX];
  if (!is_ours(fd, path)) return REAL(ftruncate64)(fd, size);
  struct stat64 before;
  pthread_mutex_lock(&mutex);
  if (!fstat64(fd, &before) && before.st_size > size) remember(fd, path, size, before.st_size - size);
  int result = REAL(ftruncate64)(fd, size);
  pthread_mutex_unlock(&mutex);
  return result;
}

static int sync_file(int fd, int (*real)(int)) {
  char path[PATH_MAX];
  if (!is_ours(fd, path)) return real(fd);
  if (control->refuse_syncs) {
    errno = control->refuse_syncs;
    return -1;
  }
  pthread_mutex_lock(&mutex);
  control->syncs++;
  if (is_due(before_sync)) end_here();
  end_by_power_cut();
  int result = real(fd);
  if (!result) forget(path);
  if (is_due(after_sync)) end_here();
  pthread_mutex_unlock(&mutex);
  return result;
}

int fsync(int fd) { return sync_file(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_file(fd, REAL(fdatasync)); }

static int64_t moved_ms(void) { return control ? control->clock_ms : 0; }

static void move(struct timespec *time, int64_t ms) {
  time->tv_sec += ms / 1000;
  time->tv_nsec += ms % 1000 * 1000000;
  if (time->tv_nsec < 0) time->tv_sec--, time->tv_nsec += 1000000000;
  if (time->tv_nsec >= 1000000000) time->tv_sec++, time->tv_nsec -= 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = REAL(clock_gettime)(clock, now);
  if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(now, moved_ms());
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int result = REAL(gettimeofday)(now, zone);
  if (!result) now->tv_sec += moved_ms() / 1000;
  return result;
}

time_t time(time_t *place) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (place) *place = now.tv_sec;
  return now.tv_sec;
}

/* A deadline by the moved wall clock is one by the system's; one by CLOCK_MONOTONIC is as small as the machine's uptime. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *held, const struct timespec *until) {
  struct timespec real = *until;
  if (until->tv_sec > 1000000000) move(&real, -moved_ms());
  return REAL(pthread_cond_timedwait)(condition, held, &real);
}
