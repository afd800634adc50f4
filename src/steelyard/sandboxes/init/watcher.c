/* The thread that answers the kernel about watched calls, and the frames about it. Part of init.c, which includes it. */

static uint32_t answer_to(const struct seccomp_notif *call) {
    struct attempt attempt = {.number = (uint32_t)call->data.nr, .pid = call->pid};
    for (int i = 0; i < watched_count; i++) {
        const struct watched *row = &watched[i];
        if (row->number != attempt.number) continue;
        attempt.error = row->answer;
        if (guarding) {
            guard(call, row->shown);
            return row->answer;
        }
        bool worth = call->pid != 1 && is_worth_reporting(call, row, &attempt); /* 1: init's own first thread */
        if (row->shown == EXEC_0 || row->shown == EXEC_1) forget_memory();
        if (worth) read_name((pid_t)call->pid, attempt.name);
        /* Otherwise the process is gone, and what was read may be another's with its number. */
        if (worth && ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0) {
            watched_seen[i]++;
            report(&attempt);
        }
        return row->answer;
    }
    return EPERM;
}

/* A thread of its own: the loop may wait for the controller, or for a child that is about to execute. */
static void *watch(void *unused) {
    static union { struct seccomp_notif call; char room[512]; } in;
    static union { struct seccomp_notif_resp answer; char room[512]; } out;
    processes = process_lists[1];
    while (sem_wait(&listener_is_known) != 0) continue;
    for (;;) {
        memset(&in, 0, sizeof in);
        if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &in.call) != 0) {
            if (errno == EINTR || errno == ENOENT) continue; /* the caller was killed meanwhile */
            return unused;
        }
        uint32_t error = answer_to(&in.call);
        memset(&out, 0, sizeof out);
        out.answer.id = in.call.id;
        out.answer.error = -(int32_t)error;
        out.answer.flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &out.answer);
    }
}

static int load_filter(unsigned flags, const char *program, uint32_t size) {
    static struct sock_filter steps[1024];
    if (size == 0 || size % sizeof *steps || size > sizeof steps) {
        errno = EINVAL;
        return -1;
    }
    memcpy(steps, program, size);
    struct sock_fprog loaded = {(unsigned short)(size / sizeof *steps), steps};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded);
}

static bool has_room_for_notifications(void) {
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return false;
    errno = EMSGSIZE;
    return sizes.seccomp_notif <= 512 && sizes.seccomp_notif_resp <= 512;
}

static int start_watcher(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WATCHER_STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread, &attributes, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* The filter is of this thread and of what it starts later. The watcher is started before: it opens files itself, and a call of its
 * own would wait for its own answer. */
static int watch_calls(const char *program, uint32_t size) {
    int ends[2];
    if (!is_process_1) return EOPNOTSUPP; /* elsewhere a command could kill who answers its calls */
    if (!has_room_for_notifications()) return errno;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
    attempts_in = ends[0];
    attempts_out = ends[1];
    int error = sem_init(&listener_is_known, 0, 0) == 0 ? start_watcher() : errno;
    if (error) return error;
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    listener_fd = load_filter(flags | (1U << 5), program, size); /* WAIT_KILLABLE_RECV: signals interrupt no call */
    if (listener_fd < 0) listener_fd = load_filter(flags, program, size); /* before Linux 5.19 */
    error = listener_fd < 0 ? errno : 0;
    /* SET_FLAGS, SYNC_WAKE_UP: the watcher runs where the caller ran, which halves the cost of a call; since Linux 6.6 */
    if (!error) ioctl(listener_fd, _IOW('!', 4, __u64), 1UL);
    sem_post(&listener_is_known); /* without a listener the thread ends */
    return error;
}

/* "u32 rows, rows, u32 size, a filter, more": the rows are taken over. False: malformed. */
struct table {
    const char *program, *rest;
    uint32_t size, rest_size;
};

static bool take_table(const char *payload, uint32_t length, struct table *table) {
    uint32_t rows = 0, at = 4;
    if (length < 8) return false;
    memcpy(&rows, payload, 4);
    if (rows > MAX_WATCHED || length - 8 < rows * sizeof *watched) return false;
    memcpy(watched, payload + at, rows * sizeof *watched);
    watched_count = (int)rows;
    at += rows * sizeof *watched;
    memcpy(&table->size, payload + at, 4);
    at += 4;
    if (table->size > length - at) return false;
    table->program = payload + at;
    table->rest = table->program + table->size;
    table->rest_size = length - at - table->size;
    return true;
}

/* The rest is the filter without a listener: if the first cannot be had, the second refuses what the first would have shown. Both
 * errors are reported; without either filter nothing may be started here. */
static void start_watching(uint32_t id, const char *payload, uint32_t length) {
    int32_t errors[2] = {EINVAL, EINVAL};
    struct table table;
    if (listener_fd < 0 && job_count == 0 && take_table(payload, length, &table)) {
        errors[0] = watch_calls(table.program, table.size);
        errors[1] = 0;
        if (errors[0] != 0) {
            shut(&listener_fd);
            if (load_filter(0, table.rest, table.rest_size) != 0) errors[1] = errno;
        }
    }
    tell('W', id, errors, sizeof errors);
}

/* The rest is paths, each with a 0 at its end: of the files, an empty one, and of programs that may write them; a folder ends with '/'. */
static bool take_guarded(const char *at, const char *end) {
    bool is_program = false;
    for (guarded_count = own_count = 0; at < end; at += strlen(at) + 1) {
        const size_t size = strlen(at) + 1;
        if (size == 1 && !is_program) {
            is_program = true;
            continue;
        }
        if ((is_program ? own_count == MAX_OWN : guarded_count == MAX_GUARDED) || at[0] != '/' || size > sizeof *own_programs) return false;
        if (is_program) memcpy(own_programs[own_count++], at, size);
        else memcpy(guarded[guarded_count++].path, at, size);
    }
    return guarded_count > 0;
}

static int guard_files(const char *payload, uint32_t length) {
    struct table table;
    struct stat found;
    if (guarding || listener_fd >= 0 || job_count > 0) return EBUSY;
    if (!take_table(payload, length, &table) || !take_guarded(table.rest, table.rest + table.rest_size)) return EINVAL;
    if (stat("/proc", &found) == 0) proc_device = found.st_dev;
    /* shared: no part of it counts towards the limit of private memory that init gives what it runs */
    void *shared = mmap(NULL, sizeof *guarding, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *table_of_all = mmap(NULL, MAX_PID * sizeof *origins, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED || table_of_all == MAP_FAILED) return errno;
    guarding = shared;
    origins = table_of_all;
    opens_seen = inotify_init1(IN_CLOEXEC | IN_NONBLOCK); /* before others use up what a user may have */
    int error = watch_calls(table.program, table.size);
    if (error) guarding = NULL;
    return error;
}

/* Without a listener the files are not guarded, and everything is as it would be without the question. */
static void start_guarding(uint32_t id, const char *payload, uint32_t length) {
    int32_t error = guard_files(payload, length);
    tell('g', id, &error, sizeof error);
}

static void tell_writers(uint32_t id) {
    struct { int32_t state; uint64_t chain; char writer[MAX_WRITER]; } __attribute__((packed)) rows[MAX_GUARDED];
    memset(rows, 0, sizeof rows);
    for (int i = 0; guarding && i < guarded_count; i++) {
        rows[i].state = reported_writer(&guarded[i]);
        rows[i].chain = guarded[i].chain;
        memcpy(rows[i].writer, guarded[i].writer, MAX_WRITER);
    }
    tell('w', id, rows, guarding ? (uint32_t)(guarded_count * (int)sizeof *rows) : 0);
}

static void tell_attempts(void) {
    struct attempt attempt;
    while (attempts_in >= 0 && read(attempts_in, &attempt, sizeof attempt) == (ssize_t)sizeof attempt) {
        bool unread = attempt.length > ATTEMPT_DETAIL;
        tell('N', 0, &attempt, (uint32_t)offsetof(struct attempt, detail) + (unread ? 0 : attempt.length));
    }
}

static void tell_counts(uint32_t id) {
    tell_attempts();
    tell('n', id, watched_seen, (uint32_t)(watched_count * (int)sizeof *watched_seen));
}
