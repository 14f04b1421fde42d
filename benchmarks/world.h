/* The files every benchmark manages: N files spread over D directories, all root's, mode 0644, ~220 bytes each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CONTENT_MAX = 256, MANAGED_MODE = 0644 };

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline _Noreturn void die(const char *what) {
    perror(what);
    exit(1);
}

static inline int managed_name(char *out, int i) { return sprintf(out, "f%06d.conf", i); }

static inline void managed_dir(char *out, const char *base, int ndirs, int i) {
    snprintf(out, PATH_MAX, "%s/d%05d", base, i % ndirs);
}

static inline void managed_path(char *out, const char *base, int ndirs, int i) {
    snprintf(out, PATH_MAX, "%s/d%05d/f%06d.conf", base, i % ndirs, i);
}

/* Keep in step with content_of() in _harness.py. */
static inline int managed_content(char *out, int i) {
    int n = sprintf(out, "# managed file %d\n", i);
    memset(out + n, 'x', 200);
    n += 200;
    out[n++] = '\n';
    return n;
}
