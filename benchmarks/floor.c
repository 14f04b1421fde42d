/* The floor: the least a program can do that keeps N small files as they should be, with the system calls of the
 * design: one inotify descriptor on the parent directories; a check is lstat, open, fstat, read, compare; a repair
 * is a temporary file in the same directory, write, fchmod, fsync, rename, fsync of the directory, and a second
 * look; an empty stamp after a repair, so that its own event verifies it; a deletion is checked 2 ms later.
 *
 * usage: floor passes BASE NDIRS N    one line of JSON: milliseconds of a first, a full and a stat-only pass
 *        floor watch  BASE NDIRS N    converges, prints "converged", repairs until it is killed
 */
#include "world.h"
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>

enum { NOTHING = -1, DELETION_WAIT_NS = 2000000 };
static const uint32_t MASK = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_CREATE;

typedef struct {
    dev_t dev;
    ino_t ino;
    off_t size;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct timespec mtime, ctime;
} stamp_t;

typedef enum { AS_DESIRED, WRONG_MODE, WRONG } verdict_t;
typedef struct { int file; int64_t due; } deletion_t;

static const char *base;
static int ndirs, nfiles;
static stamp_t *stamps;
static deletion_t *deletions; /* a ring: the wait is the same for all, so the oldest is due first */
static int deletions_head, deletions_count;

static void take_stamp(stamp_t *out, const struct stat *st) {
    memset(out, 0, sizeof *out);
    *out = (stamp_t){st->st_dev, st->st_ino, st->st_size, st->st_mode, st->st_uid, st->st_gid, st->st_mtim, st->st_ctim};
}

static int same_stamp(const stamp_t *a, const struct stat *st) {
    return a->ino == st->st_ino && a->dev == st->st_dev && a->size == st->st_size && a->mode == st->st_mode &&
           a->uid == st->st_uid && a->gid == st->st_gid && a->mtime.tv_sec == st->st_mtim.tv_sec &&
           a->mtime.tv_nsec == st->st_mtim.tv_nsec && a->ctime.tv_sec == st->st_ctim.tv_sec &&
           a->ctime.tv_nsec == st->st_ctim.tv_nsec;
}

/* Reads the file; on AS_DESIRED the stamp is that of the descriptor read. */
static verdict_t observe(int i, const char *path, stamp_t *stamp) {
    char want[CONTENT_MAX], have[CONTENT_MAX];
    struct stat st;
    if (lstat(path, &st) || !S_ISREG(st.st_mode)) return WRONG;
    if (same_stamp(stamp, &st)) return AS_DESIRED;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return WRONG;
    int len = managed_content(want, i);
    int right = !fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, have, sizeof have) == len && !memcmp(have, want, len);
    close(fd);
    if (!right || st.st_uid || st.st_gid) return WRONG;
    if ((st.st_mode & 07777) != MANAGED_MODE) return WRONG_MODE;
    take_stamp(stamp, &st);
    return AS_DESIRED;
}

static void restore_mode(const char *path) {
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return; /* gone meanwhile: its event is on the way */
    fchmod(fd, MANAGED_MODE);
    close(fd);
}

static void store(int i) {
    char dir[PATH_MAX], name[32], temporary[64], content[CONTENT_MAX];
    managed_dir(dir, base, ndirs, i);
    managed_name(name, i);
    sprintf(temporary, ".floor.%d.tmp", i);
    int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int len = managed_content(content, i);
    if (fd < 0 || write(fd, content, len) != len || fchmod(fd, MANAGED_MODE) || fsync(fd)) die("store");
    close(fd);
    if (renameat(dirfd, temporary, dirfd, name) || fsync(dirfd)) die("rename");
    close(dirfd);
}

static void check(int i) {
    char path[PATH_MAX];
    managed_path(path, base, ndirs, i);
    verdict_t verdict = observe(i, path, &stamps[i]);
    if (verdict == AS_DESIRED) return;
    if (verdict == WRONG_MODE) restore_mode(path);
    else store(i);
    stamp_t verified = {0}; /* thrown away: a stamp taken after a repair may be of a foreign write */
    observe(i, path, &verified);
    memset(&stamps[i], 0, sizeof stamps[i]);
}

static void check_all(void) {
    for (int i = 0; i < nfiles; i++) check(i);
}

static void forget_stamps(void) { memset(stamps, 0, nfiles * sizeof *stamps); }

static void check_later(int i) {
    deletions[(deletions_head + deletions_count++) % nfiles] = (deletion_t){i, now_ns() + DELETION_WAIT_NS};
}

/* Checks what is due and returns the nanoseconds to the next one, or NOTHING. */
static int64_t check_due(void) {
    while (deletions_count) {
        deletion_t *next = &deletions[deletions_head];
        int64_t left = next->due - now_ns();
        if (left > 0) return left;
        deletions_head = (deletions_head + 1) % nfiles;
        deletions_count--;
        check(next->file);
    }
    return NOTHING;
}

/* The number of the managed file of this name, or NOTHING. */
static int managed_number(const char *name) {
    char expected[32];
    int i = name[0] == 'f' ? atoi(name + 1) : NOTHING;
    if (i < 0 || i >= nfiles) return NOTHING;
    managed_name(expected, i);
    return strcmp(name, expected) ? NOTHING : i;
}

static void drain(int inotify) {
    static char buffer[1 << 16] __attribute__((aligned(8)));
    ssize_t got = read(inotify, buffer, sizeof buffer);
    for (char *at = buffer; at < buffer + got;) {
        struct inotify_event *event = (struct inotify_event *)at;
        at += sizeof *event + event->len;
        if (event->mask & IN_Q_OVERFLOW) forget_stamps(), check_all();
        int i = event->len ? managed_number(event->name) : NOTHING;
        if (i == NOTHING) continue;
        if (event->mask & (IN_DELETE | IN_MOVED_FROM)) {
            if (deletions_count < nfiles) check_later(i);
        } else if (!(event->mask & IN_CREATE)) {
            check(i);
        }
    }
}

static int arm(void) {
    int inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    for (int i = 0; i < ndirs; i++) {
        char dir[PATH_MAX];
        managed_dir(dir, base, ndirs, i);
        if (inotify_add_watch(inotify, dir, MASK) < 0) die(dir);
    }
    return inotify;
}

static void watch(void) {
    struct pollfd ready = {arm(), POLLIN, 0};
    check_all();
    while (poll(&ready, 1, 50) > 0) drain(ready.fd);
    puts("converged");
    fflush(stdout);
    for (;;) {
        int64_t left = check_due();
        struct timespec wait = {left / 1000000000, left % 1000000000};
        if (ppoll(&ready, 1, left == NOTHING ? NULL : &wait, NULL) > 0) drain(ready.fd);
    }
}

static double timed_ms(void (*pass)(void)) {
    int64_t start = now_ns();
    pass();
    return (now_ns() - start) / 1e6;
}

static void passes(void) {
    double first = timed_ms(check_all);
    double full = timed_ms(check_all);
    double stat_only = timed_ms(check_all);
    printf("{\"first_ms\": %.2f, \"full_ms\": %.2f, \"stat_ms\": %.2f}\n", first, full, stat_only);
}

int main(int argc, char **argv) {
    if (argc != 5) return fputs("usage: floor passes|watch BASE NDIRS N\n", stderr), 2;
    base = argv[2], ndirs = atoi(argv[3]), nfiles = atoi(argv[4]);
    stamps = calloc(nfiles, sizeof *stamps);
    deletions = calloc(nfiles, sizeof *deletions);
    strcmp(argv[1], "watch") ? passes() : watch();
    return 0;
}
