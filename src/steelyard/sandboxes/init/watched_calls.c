/* A system call that the kernel shows -> what is reported of it. Part of init.c, which includes it. */

/* How a call is shown, beside its number. */
enum { PLAIN, ADDRESS_1, ADDRESS_4, EXEC_0, EXEC_1, OPEN_0, OPEN_1, CREATE_0, OPEN2_1, MESSAGE_1, MAKE_0, MAKE_1, REMOVE_0, REMOVE_1, MOVE_0, MOVE_1, EXIT,
       LINK_1, LINK_2, LINK_3, TRUNCATE_0, MODE_0, MODE_1 };

/* What an open asks for; a change of a folder writes. */
enum { READS = 1, WRITES = 2, FOLDER = 4 };

/* One row of the controller's table. A call without a row is refused with EPERM. */
struct watched {
    uint32_t number;
    uint32_t answer; /* the error of a call that is refused; 0: the kernel decides */
    uint32_t shown;
};

/* What is reported of a call: the payload of N. Written to the pipe in one piece (less than PIPE_BUF). */
struct attempt {
    uint32_t number;
    uint32_t error; /* that it was answered with, or that it will fail with; 0: not known */
    uint32_t pid;
    uint32_t wanted; /* of an open or a change: READS, WRITES, FOLDER */
    uint32_t length; /* of the detail; UINT32_MAX: the caller's memory could not be read */
    char name[16];
    char detail[ATTEMPT_DETAIL];
};

static struct watched watched[MAX_WATCHED];
static int watched_count;
static uint64_t watched_seen[MAX_WATCHED]; /* written by the watcher alone */
static int listener_fd = -1;               /* of the filter; close-on-exec */
static sem_t listener_is_known;            /* posted once, when the filter is loaded or could not be */
static int attempts_in = -1, attempts_out = -1;
static uint64_t attempts_known[MAX_ATTEMPTS]; /* digests of those that were reported */
static int attempts_sent;

/* Whether this machine lets init read the memory of what it runs: a security module may forbid it. */
static bool memory_is_readable;

/* The memory of the last caller. A program is started in memory of its own, and an exec is a watched call: then it is opened again. */
static pid_t memory_pid;
static int memory_fd = -1;

static void forget_memory(void) {
    shut(&memory_fd);
    memory_pid = 0;
}

static bool open_memory(pid_t pid) {
    char path[32];
    forget_memory();
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    memory_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (memory_fd >= 0) memory_pid = pid;
    return memory_fd >= 0;
}

/* Not process_vm_readv: the filter of the sandbox refuses it. */
static ssize_t read_caller(pid_t pid, uint64_t address, void *into, size_t size) {
    ssize_t got = memory_pid == pid ? pread(memory_fd, into, size, (off_t)address) : 0;
    if (got > 0) return got;
    if (!open_memory(pid)) return -1;
    got = pread(memory_fd, into, size, (off_t)address);
    memory_is_readable |= got > 0;
    if (got == 0) errno = ESRCH;
    return got > 0 ? got : -1;
}

/* Whether it is the caller that keeps its memory to itself, and not this machine. The files of such a process in /proc are not its own. */
static bool hides_memory(pid_t pid) {
    char path[32];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    return memory_is_readable || (stat(path, &found) == 0 && found.st_uid != geteuid());
}

/* After a failure to look at a caller. What it keeps to itself is reported, too; an address that leads nowhere is not. */
static bool is_hidden(pid_t pid, struct attempt *attempt) {
    attempt->error = 0;
    attempt->length = UINT32_MAX;
    return (errno == EACCES || errno == EPERM) && hides_memory(pid);
}

/* A path may end just before a page that is not there: no read crosses a page. */
static bool read_path(pid_t pid, uint64_t address, char *into, size_t size) {
    size_t have = 0;
    while (have < size - 1) {
        size_t part = 4096 - (address + have) % 4096;
        if (part > size - 1 - have) part = size - 1 - have;
        ssize_t got = read_caller(pid, address + have, into + have, part);
        if (got <= 0) return false;
        if (memchr(into + have, 0, (size_t)got)) return true;
        have += (size_t)got;
    }
    into[have] = 0;
    return true;
}

static void read_name(pid_t pid, char name[16]) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, name, 15);
    if (fd >= 0) close(fd);
    if (got > 0 && name[got - 1] == '\n') name[got - 1] = 0;
}

/* What of a path comes after a prefix; NULL: it does not begin with it. */
static const char *after(const char *path, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

/* The link of /proc to the folder that a path begins at. */
static void name_folder(pid_t pid, int folder, char *into, size_t size) {
    if (folder == AT_FDCWD) snprintf(into, size, "/proc/%d/cwd", pid);
    else snprintf(into, size, "/proc/%d/fd/%d", pid, folder);
}

/* Of a path that begins in /proc, what comes after the caller's own folder there; NULL: it is no such path. */
static const char *below_self(pid_t pid, int folder, const char *path) {
    char link[64], target[8];
    const char *name = path[0] == '/' ? after(path, "/proc/") : path;
    const char *own = name ? after(name, "self/") : NULL;
    if (name && !own) own = after(name, "thread-self/");
    if (!own || path[0] == '/') return own;
    name_folder(pid, folder, link, sizeof link);
    return readlink(link, target, sizeof target) == 5 && memcmp(target, "/proc", 5) == 0 ? own : NULL;
}

/* Where the caller's path leads, as init can name it: both have the same mounts, and each its own /proc/self. */
static void resolve(pid_t pid, int folder, const char *path, char *into, size_t size) {
    char link[64];
    const char *own = below_self(pid, folder, path);
    name_folder(pid, folder, link, sizeof link);
    if (own) snprintf(into, size, "/proc/%d/%s", pid, own);
    else if (path[0] == '/') snprintf(into, size, "%s", path);
    else snprintf(into, size, "%s/%s", link, path);
}

/* Whether the caller keeps the folder that a path begins at from init: then a refusal is init's own. */
static bool hides_folder(pid_t pid, int folder, const char *path) {
    char link[64], target[1];
    if (path[0] == '/') return false;
    name_folder(pid, folder, link, sizeof link);
    return readlink(link, target, sizeof target) < 0;
}

static uint32_t wanted_by(uint64_t flags) {
    bool reads = (flags & O_ACCMODE) != O_WRONLY, writes = flags & (O_ACCMODE | O_TRUNC);
    return (reads ? READS : 0) | (writes ? WRITES : 0) | (flags & O_DIRECTORY ? FOLDER : 0);
}

/* Of process 1 the kernel shows others less than their modes say, and init itself everything. */
static bool is_kept_by_init(const char *path) {
    static const char *const names[] = {"maps", "smaps", "smaps_rollup", "numa_maps", "fd", "map_files"};
    const char *name = strrchr(path, '/');
    for (size_t i = 0; after(path, "/proc/1/") && i < sizeof names / sizeof *names; i++)
        if (strcmp(name + 1, names[i]) == 0) return true;
    return false;
}

/* What the kernel is about to say to an open. Init is the same user; only refusals count. */
static uint32_t open_error(const char *path, uint64_t flags, uint32_t wanted) {
    static char parent[4096 + 64];
    int modes = (wanted & READS ? R_OK : 0) | (wanted & WRITES ? W_OK : 0);
    int how = AT_EACCESS | (flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
    if (faccessat(AT_FDCWD, path, modes, how) == 0) return is_kept_by_init(path) ? EACCES : 0;
    if (errno == ENOENT && flags & O_CREAT) {
        snprintf(parent, sizeof parent, "%s", path);
        char *slash = strrchr(parent, '/');
        if (!slash) return 0;
        slash[1] = 0;
        if (faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0) return 0;
    }
    return errno == EACCES || errno == EROFS || errno == EPERM ? (uint32_t)errno : 0;
}

/* A set-user-id program starts, but without the rights that it is started for. A missing program is not refused: callers
 * search the folders of PATH. */
static uint32_t exec_error(const char *path) {
    struct stat found;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0) return errno == EACCES || errno == EPERM ? (uint32_t)errno : 0;
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode)) return 0;
    return found.st_mode & S_ISUID && found.st_uid != geteuid() ? EPERM : 0;
}

static bool is_nearby(const struct attempt *attempt) {
    const struct sockaddr_in *four = (const void *)attempt->detail;
    const struct sockaddr_in6 *six = (const void *)attempt->detail;
    if (four->sin_family == AF_UNIX || four->sin_family == AF_UNSPEC || four->sin_family == AF_NETLINK) return true;
    if (four->sin_family == AF_INET) return ntohl(four->sin_addr.s_addr) >> 24 == 127 || four->sin_addr.s_addr == 0;
    return four->sin_family == AF_INET6 && (IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr));
}

/* A connection or a message to another machine. */
static bool look_at_address(const struct seccomp_notif *call, uint64_t address, uint64_t size, struct attempt *attempt) {
    if (size < sizeof(sa_family_t)) return false;
    if (size > sizeof(struct sockaddr_in6)) size = sizeof(struct sockaddr_in6);
    ssize_t got = read_caller((pid_t)call->pid, address, attempt->detail, size);
    if (got < 0) return is_hidden((pid_t)call->pid, attempt);
    attempt->length = (uint32_t)got;
    return !is_nearby(attempt);
}

/* Of several messages the first. */
static bool look_at_message(const struct seccomp_notif *call, struct attempt *attempt) {
    struct { uint64_t name; uint32_t size; } head; /* the beginning of struct msghdr, and of struct mmsghdr */
    if (read_caller((pid_t)call->pid, call->data.args[1], &head, sizeof head) == (ssize_t)sizeof head)
        return head.name && look_at_address(call, head.name, head.size, attempt);
    return is_hidden((pid_t)call->pid, attempt);
}

/* A path that begins at a folder of the caller is shown from the root on. */
static void show_path(pid_t pid, int folder, const char *path, struct attempt *attempt) {
    char link[64];
    attempt->length = 0;
    if (path[0] != '/') {
        name_folder(pid, folder, link, sizeof link);
        ssize_t length = readlink(link, attempt->detail, ATTEMPT_DETAIL - 2);
        if (length > 0) {
            attempt->detail[length++] = '/';
            attempt->length = (uint32_t)length;
        }
    }
    size_t room = ATTEMPT_DETAIL - attempt->length, rest_length = strnlen(path, room);
    memcpy(attempt->detail + attempt->length, path, rest_length);
    attempt->length += (uint32_t)rest_length;
}

/* What links lead to, as far as it is there and can be found. */
static bool show_real_path(const char *resolved, struct attempt *attempt) {
    char link[32];
    struct stat found;
    int fd = open(resolved, O_PATH | O_CLOEXEC);
    if (fd < 0) return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, attempt->detail, ATTEMPT_DETAIL);
    if (fstat(fd, &found) == 0 && S_ISDIR(found.st_mode)) attempt->wanted |= FOLDER;
    close(fd);
    if (length > 0) attempt->length = (uint32_t)length;
    return length > 0;
}

static bool look_at_exec(const struct seccomp_notif *call, uint32_t shown, struct attempt *attempt) {
    static char path[4096], resolved[4096 + 64];
    const pid_t pid = (pid_t)call->pid;
    bool second = shown == EXEC_1;
    int folder = second ? (int)call->data.args[0] : AT_FDCWD;
    /* the child that init itself is starting has init's memory */
    if (!read_path(pid, call->data.args[second], path, sizeof path) || !path[0]) return false;
    resolve(pid, folder, path, resolved, sizeof resolved);
    attempt->error = exec_error(resolved);
    if (attempt->error == 0 || hides_folder(pid, folder, path)) return false;
    show_path(pid, folder, path, attempt);
    return true;
}

static bool look_at_open(const struct seccomp_notif *call, uint32_t shown, struct attempt *attempt) {
    static char path[4096], resolved[4096 + 64];
    const __u64 *args = call->data.args;
    const pid_t pid = (pid_t)call->pid;
    bool second = shown == OPEN_1 || shown == OPEN2_1;
    int folder = second ? (int)args[0] : AT_FDCWD;
    uint64_t flags = shown == CREATE_0 ? O_CREAT | O_WRONLY | O_TRUNC : args[second ? 2 : 1];
    if (shown == OPEN2_1 && read_caller(pid, args[2], &flags, sizeof flags) < 0) flags = 0;
    if (flags & O_PATH) return false; /* nothing is read */
    attempt->wanted = wanted_by(flags);
    if (!read_path(pid, args[second], path, sizeof path)) return is_hidden(pid, attempt);
    if (!path[0]) return false;
    resolve(pid, folder, path, resolved, sizeof resolved);
    attempt->error = open_error(resolved, flags, attempt->wanted);
    if (attempt->error == 0) return false;
    if (hides_folder(pid, folder, path)) return is_hidden(pid, attempt);
    if (!show_real_path(resolved, attempt)) show_path(pid, folder, path, attempt);
    return true;
}

/* What the kernel is about to say to a change of the folder that a path is in; only refusals count. */
static uint32_t change_error(const char *path, bool makes, bool removes) {
    static char parent[4096 + 64];
    struct stat found;
    bool exists = lstat(path, &found) == 0;
    if ((makes && exists) || (removes && !exists)) return 0; /* it fails for another reason */
    snprintf(parent, sizeof parent, "%s", path);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/') parent[--length] = 0;
    char *slash = strrchr(parent, '/');
    if (!slash) return 0;
    slash[1] = 0;
    if (faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0) return 0;
    return errno == EACCES || errno == EROFS || errno == EPERM ? (uint32_t)errno : 0;
}

/* What the kernel is about to say to a change of a file itself: its size, or its modes, which are its owner's. */
static uint32_t attribute_error(const char *path, bool is_mode) {
    struct stat found;
    bool is_writable = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
    if (!is_writable && errno == EROFS) return EROFS;
    if (!is_mode) return is_writable || errno != EACCES ? 0 : EACCES;
    return stat(path, &found) == 0 && geteuid() != 0 && found.st_uid != geteuid() ? EPERM : 0;
}

/* Where the arguments of a call have a path; `folder` -1: the path begins at the working directory. */
struct place {
    int folder, path;
};

static struct place place_of(uint32_t shown) {
    switch (shown) {
        case MAKE_1: case REMOVE_1: case MOVE_1: case MODE_1: return (struct place){0, 1};
        case LINK_1: return (struct place){-1, 1};
        case LINK_2: return (struct place){1, 2};
        case LINK_3: return (struct place){2, 3};
        default: return (struct place){-1, 0};
    }
}

static uint32_t refused_change(const char *path, uint32_t shown, bool is_second) {
    switch (shown) {
        case TRUNCATE_0: return attribute_error(path, false);
        case MODE_0: case MODE_1: return attribute_error(path, true);
        case MAKE_0: case MAKE_1: case LINK_1: case LINK_2: case LINK_3: return change_error(path, true, false);
        default: return change_error(path, false, !is_second);
    }
}

/* Folders and links made, names removed and moved, files cut, modes changed: of a move, where it comes from and where it leads. */
static bool look_at_change(const struct seccomp_notif *call, uint32_t shown, struct attempt *attempt) {
    static char path[4096], resolved[4096 + 64];
    const __u64 *args = call->data.args;
    const pid_t pid = (pid_t)call->pid;
    const struct place first = place_of(shown);
    attempt->wanted = WRITES;
    for (int i = 0; i < 1 + (shown == MOVE_0 || shown == MOVE_1); i++) {
        int step = first.folder < 0 ? i : 2 * i, folder = first.folder < 0 ? AT_FDCWD : (int)args[first.folder + step];
        if (!read_path(pid, args[first.path + step], path, sizeof path)) return is_hidden(pid, attempt);
        if (!path[0]) return false;
        resolve(pid, folder, path, resolved, sizeof resolved);
        attempt->error = refused_change(resolved, shown, i > 0);
        if (attempt->error == 0) continue;
        if (hides_folder(pid, folder, path)) return is_hidden(pid, attempt);
        show_path(pid, folder, path, attempt);
        return true;
    }
    return false;
}

static uint64_t digest_of(const struct attempt *attempt) {
    uint64_t digest = 14695981039346656037u; /* FNV-1a */
    const struct attempt same = *attempt;
    const unsigned char *at = (const unsigned char *)&same.name;
    digest = (digest ^ attempt->number) * 1099511628211u;
    digest = (digest ^ attempt->wanted) * 1099511628211u;
    for (size_t i = 0; i < sizeof same.name + sizeof same.detail; i++) digest = (digest ^ at[i]) * 1099511628211u;
    return digest;
}

/* Each attempt once, and no more than so many; a full pipe loses one and holds up nothing. */
static void report(const struct attempt *attempt) {
    if (attempts_sent == MAX_ATTEMPTS) return;
    uint64_t digest = digest_of(attempt);
    for (int i = 0; i < attempts_sent; i++)
        if (attempts_known[i] == digest) return;
    if (write(attempts_out, attempt, sizeof *attempt) == (ssize_t)sizeof *attempt) attempts_known[attempts_sent++] = digest;
}

static bool is_worth_reporting(const struct seccomp_notif *call, const struct watched *row, struct attempt *attempt) {
    switch (row->shown) {
        case ADDRESS_1: return look_at_address(call, call->data.args[1], call->data.args[2], attempt);
        case ADDRESS_4: return look_at_address(call, call->data.args[4], call->data.args[5], attempt);
        case MESSAGE_1: return look_at_message(call, attempt);
        case PLAIN: return true;
        case EXEC_0: case EXEC_1: return look_at_exec(call, row->shown, attempt);
        case OPEN_0: case OPEN_1: case CREATE_0: case OPEN2_1: return look_at_open(call, row->shown, attempt);
        default: return look_at_change(call, row->shown, attempt);
    }
}
