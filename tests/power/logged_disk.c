/* A disk in a file that logs every write and every flush, so that a power failure can be replayed at any moment.
 *
 *     logged_disk MOUNTPOINT IMAGE LOG
 *
 * MOUNTPOINT/disk is the disk, to be mounted by a loop device; IMAGE holds its content. What is written to
 * MOUNTPOINT/mark goes to the log only: it says what was promised at that moment. LOG is a sequence of records, each with
 * a header of three unsigned 64-bit numbers: the type (1 write, 2 flush, 3 mark), the offset and the number of bytes that
 * follow.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITE = 1, FLUSH = 2, MARK = 3 };

static int image, logged;

static int is_mark(const char *path) { return !strcmp(path, "/mark"); }

static int is_disk(const char *path) { return !strcmp(path, "/disk"); }

static void put(uint64_t type, uint64_t offset, uint64_t count, const void *bytes) {
    uint64_t header[3] = {type, offset, count};
    if (write(logged, header, sizeof header) != sizeof header ||
        (count && write(logged, bytes, count) != (ssize_t)count)) {
        perror("logged_disk: cannot write the log");
        exit(1); /* a log with a hole would prove anything */
    }
}

static int get_attributes(const char *path, struct stat *found, struct fuse_file_info *file) {
    (void)file;
    memset(found, 0, sizeof *found);
    if (!strcmp(path, "/")) {
        found->st_mode = S_IFDIR | 0700;
        found->st_nlink = 2;
        return 0;
    }
    if (!is_disk(path) && !is_mark(path))
        return -ENOENT;
    found->st_mode = S_IFREG | 0600;
    found->st_nlink = 1;
    if (is_disk(path)) {
        struct stat size;
        if (fstat(image, &size))
            return -errno;
        found->st_size = size.st_size;
    }
    return 0;
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
                enum fuse_readdir_flags flags) {
    (void)path, (void)offset, (void)file, (void)flags;
    fill(buffer, "disk", NULL, 0, 0);
    fill(buffer, "mark", NULL, 0, 0);
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *file) {
    (void)path;
    file->direct_io = 1; /* no cache of ours: each write arrives when the loop device makes it */
    return 0;
}

static int read_disk(const char *path, char *bytes, size_t count, off_t offset, struct fuse_file_info *file) {
    (void)file;
    if (!is_disk(path))
        return 0;
    ssize_t got = pread(image, bytes, count, offset);
    return got < 0 ? -errno : (int)got;
}

static int write_disk(const char *path, const char *bytes, size_t count, off_t offset, struct fuse_file_info *file) {
    (void)file;
    if (is_mark(path)) {
        put(MARK, 0, count, bytes);
        return (int)count;
    }
    ssize_t done = pwrite(image, bytes, count, offset);
    if (done < 0)
        return -errno;
    put(WRITE, (uint64_t)offset, (uint64_t)done, bytes);
    return (int)done;
}

static int flush_disk(const char *path, int only_data, struct fuse_file_info *file) {
    (void)only_data, (void)file;
    if (is_disk(path))
        put(FLUSH, 0, 0, NULL);
    return 0;
}

static const struct fuse_operations operations = {
    .getattr = get_attributes,
    .readdir = list,
    .open = open_file,
    .read = read_disk,
    .write = write_disk,
    .fsync = flush_disk,
};

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: logged_disk MOUNTPOINT IMAGE LOG\n");
        return 2;
    }
    image = open(words[2], O_RDWR);
    logged = open(words[3], O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    if (image < 0 || logged < 0) {
        perror("logged_disk");
        return 1;
    }
    char *arguments[] = {words[0], "-f", "-s", words[1], NULL}; /* one thread: the log has the order of the requests */
    return fuse_main(4, arguments, &operations, NULL);
}
