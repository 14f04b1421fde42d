/* An attacker: `exchanging UID A B [C D ...]` exchanges A with B, and C with D, again and again, as the user UID.
 * Between two exchanges it waits for a random time of up to 60 us, so that each state is met at every point of the
 * victim's work. A name that is missing for a while is waited for. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static void wait_for(long nanoseconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < nanoseconds);
}

int main(int count, char **words)
{
    uid_t uid = (uid_t)atol(words[1]);
    if (setgroups(0, NULL) || setgid(uid) || setuid(uid)) { perror("setuid"); return 1; }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    srandom((unsigned)getpid());
    puts("ready");
    fflush(stdout);
    for (;;)
        for (int at = 2; at + 1 < count; at += 2) {
            syscall(SYS_renameat2, AT_FDCWD, words[at], AT_FDCWD, words[at + 1], RENAME_EXCHANGE);
            wait_for(random() % 60000);
        }
}
