/* Changes one managed file at a time behind the back of whoever keeps it, and measures the time until it is right
 * again: content, mode and owner, read by spinning. Prints microseconds, one per line; -1 when it took over 3 s.
 *
 * usage: drift BASE NDIRS N FIRST SAMPLES GAP_US SEED write|chmod|rename|delete
 *        N is the number of files there are; those from FIRST on are changed, in random order.
 */
#include "world.h"

static const int64_t GIVE_UP_NS = 3000000000LL;

static void put(const char *path, int flags, int64_t *start) {
    int fd = open(path, O_WRONLY | flags, MANAGED_MODE);
    if (fd < 0) die(path);
    if (start) *start = now_ns();
    if (write(fd, "drift", 5) != 5) die("write");
    close(fd);
}

/* Makes the change and returns when it began to be visible. */
static int64_t change(const char *how, const char *path) {
    char edited[PATH_MAX + 8];
    int64_t start = 0;
    if (!strcmp(how, "write")) return put(path, O_TRUNC, &start), start;
    if (!strcmp(how, "rename")) {
        snprintf(edited, sizeof edited, "%s.edit", path);
        put(edited, O_CREAT | O_TRUNC, NULL);
    }
    start = now_ns();
    int failed = !strcmp(how, "rename")   ? rename(edited, path)
                 : !strcmp(how, "delete") ? unlink(path)
                 : !strcmp(how, "chmod")  ? chmod(path, 0600)
                                          : (errno = EINVAL, -1);
    if (failed) die(how);
    return start;
}

static int is_right(const char *path, const char *want, int len) {
    char have[CONTENT_MAX];
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    int right = !fstat(fd, &st) && (st.st_mode & 07777) == MANAGED_MODE && read(fd, have, sizeof have) == len &&
                !memcmp(have, want, len);
    close(fd);
    return right;
}

static double restored_after_us(const char *path, int i, int64_t start) {
    char want[CONTENT_MAX];
    int len = managed_content(want, i);
    while (now_ns() - start < GIVE_UP_NS)
        if (is_right(path, want, len)) return (now_ns() - start) / 1e3;
    return -1;
}

int main(int argc, char **argv) {
    if (argc != 9) return fputs("usage: drift BASE NDIRS N FIRST SAMPLES GAP_US SEED HOW\n", stderr), 2;
    int ndirs = atoi(argv[2]), nfiles = atoi(argv[3]), first = atoi(argv[4]), samples = atoi(argv[5]);
    int gap = atoi(argv[6]);
    srand(atoi(argv[7]));
    for (int sample = 0; sample < samples; sample++) {
        char path[PATH_MAX];
        int i = first + rand() % (nfiles - first);
        managed_path(path, argv[1], ndirs, i);
        printf("%.1f\n", restored_after_us(path, i, change(argv[8], path)));
        usleep(gap + rand() % (gap / 2 + 1));
    }
    return 0;
}
