/* Whose process writes the files of a verifier. Part of init.c, which includes it. */

enum { MAX_WRITER = 116 };

/* A file is written by the command that guards it, or by what that started to write it. Tested code must not.
 *
 *     OWN        the command, what it forks, programs that the controller named, and code after -c that names the file
 *     FOREIGN    a process that was started from, or has read, a file that the tested code may have written; whatever that starts
 *     NEUTRAL    others: `tee`, `mv`
 *
 * What the memory of a process holds can be believed until it is FOREIGN, so the call by which it becomes FOREIGN is seen as it is.
 * Later calls may not be: nothing depends on what a FOREIGN process is seen to do. */
enum { UNKNOWN, OWN, NEUTRAL, FOREIGN };

struct origin {
    uint64_t start; /* of the process: another may have its number later */
    uint64_t chain; /* digest of the programs from the command down to the first that is FOREIGN */
    ino_t pipe;     /* that it opened last, by a name */
    uint32_t checked; /* when `start` was last compared with the process of this number */
    uint8_t kind;
    bool is_python, is_shell, is_interpreter, executes_input;
    bool by_data; /* FOREIGN, and no code of others is seen in it yet */
    bool relays;  /* NEUTRAL, and its input comes from a FOREIGN process */
};

/* NOT_SEEN: no open by an OWN or NEUTRAL process. LAST: by one, and no FOREIGN process has started since. KEPT: one has started since, and the
 * file was then `content`. HELD: likewise, and the file was open then (`check > file`): nobody else may have opened it since. */
enum { NOT_SEEN, LAST, KEPT, HELD };

/* What is reported: NOT_SEEN, or */
enum { WRITTEN_BY_OWN = 1, WRITTEN_BY_OTHERS = 2, WRITTEN_BY_MISLED = 3 };

static struct guarded {
    char path[256];
    int state;
    uint64_t chain; /* of the last FOREIGN process that opened it */
    char writer[MAX_WRITER];
    dev_t device; /* of a file that is HELD */
    ino_t number;
    ssize_t size; /* of the content; -1: it was none that can be compared */
    char content[MAX_GUARDED_BYTES];
} guarded[MAX_GUARDED];
static int guarded_count;
static char own_programs[MAX_OWN][256];
static int own_count;
static struct origin *origins; /* by the number of the process */
/* Files that an OWN or NEUTRAL process had open for writing when one became FOREIGN: inotify tells of each later open, by whatever name. */
static struct held {
    int watch;
    dev_t device;
    ino_t number;
    bool is_touched;
} held_files[KNOWN_HELD];
static unsigned held_count;
static int opens_seen = -1;
/* Files that an OWN or NEUTRAL process opened for writing, and no FOREIGN one since as far as it was seen. Those of an earlier epoch must not have changed
 * since the next one began, when a process became FOREIGN: it may have other names for them. */
static struct own_file {
    uint64_t digest;
    uint32_t epoch;
} own_files[KNOWN_FILES];
static uint32_t epoch;
static unsigned written_in_epoch;
static struct timespec epoch_began[KNOWN_EPOCHS];
static ino_t foreign_pipes[KNOWN_PIPES]; /* into which a FOREIGN process writes what it prints */
static unsigned foreign_pipe_count;
static bool is_misled; /* an OWN or NEUTRAL process has loaded what tested code left in place of a library: its exit code may be anything */
static struct timespec tested_since; /* when the first process became FOREIGN, on the clock of files */
static dev_t proc_device;
static uint64_t known_folders[KNOWN_FOLDERS]; /* where the command began, before tested code started; files keep their times when one of these is renamed */
static int known_folder_count;

static uint64_t mix(uint64_t digest, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++) digest = (digest ^ ((const unsigned char *)data)[i]) * 1099511628211U;
    return digest;
}

/* The process of a thread; 0: it is gone. */
static pid_t process_of(pid_t thread) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/status", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    const char *at = strstr(text, "\nTgid:");
    return at ? atoi(at + 6) : 0;
}

static bool is_thread_of(pid_t thread, pid_t process) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task/%d", process, thread);
    return thread == process || access(path, F_OK) == 0;
}

/* Up to init, or to the command that guards. */
static bool descends_from(int count, pid_t pid, pid_t ancestor) {
    for (int depth = 0; pid > 1 && depth < 4096; depth++) {
        if (pid == ancestor) return true;
        const struct process *process = find_process(count, pid);
        pid = process ? process->parent : 0;
    }
    return false;
}

/* A process that has not executed anything is what its parent is. One that lost its parent is FOREIGN. */
static struct origin origin_of(pid_t pid) {
    struct origin found = {.kind = FOREIGN};
    const pid_t asked = pid;
    uint64_t start = 0;
    for (int depth = 0; pid > 1 && pid < MAX_PID && depth < 4096; depth++) {
        struct process process;
        char name[12];
        if (pid == guarding->pid) {
            found = (struct origin){.kind = OWN};
            break;
        }
        snprintf(name, sizeof name, "%d", pid);
        if (!read_process(name, &process)) break;
        if (depth == 0) start = process.start;
        if (origins[pid].kind && origins[pid].start == process.start) {
            found = origins[pid];
            break;
        }
        pid = process.parent;
    }
    found.start = start;
    if (start) origins[asked] = found;
    return found;
}

/* By folder and name: it may not exist yet. 0: it cannot. */
static uint64_t digest_of_file(const char *path) {
    static char folder[4096 + 64];
    struct stat found;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash) return 0;
    slash[0] = 0;
    if (stat(slash == folder ? "/" : folder, &found) != 0) return 0;
    uint64_t digest = mix(14695981039346656037U, slash + 1, strlen(slash + 1));
    return mix(mix(digest, &found.st_ino, sizeof found.st_ino), &found.st_dev, sizeof found.st_dev) | 1;
}

/* Or at the same time. */
static bool is_later(const struct timespec *time, const struct timespec *than) {
    return time->tv_sec != than->tv_sec ? time->tv_sec > than->tv_sec : time->tv_nsec >= than->tv_nsec;
}

/* The pipe that a process has open under that number; 0: it is none. */
static ino_t pipe_of(pid_t pid, int number) {
    char link[32];
    struct stat found;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, number);
    return stat(link, &found) == 0 && S_ISFIFO(found.st_mode) ? found.st_ino : 0;
}

static bool is_foreign_pipe(ino_t pipe) {
    for (int i = 0; pipe && i < KNOWN_PIPES; i++)
        if (foreign_pipes[i] == pipe) return true;
    return false;
}

static void remember_own_file(uint64_t digest) {
    own_files[digest % KNOWN_FILES] = (struct own_file){digest, epoch};
    written_in_epoch++;
}

static void forget_own_file(uint64_t digest) {
    struct own_file *file = &own_files[digest % KNOWN_FILES];
    if (digest == 0 || file->digest != digest) return;
    if (file->epoch == epoch && written_in_epoch > 0) written_in_epoch--;
    file->digest = 0;
}

static int kind_of(const struct process *process) {
    const struct origin *known = &origins[process->pid % MAX_PID];
    return known->kind && known->start == process->start ? known->kind : origin_of(process->pid).kind;
}

/* Whether tested code runs at this moment. */
static bool lives_foreign(void) {
    if (!tested_since.tv_sec) return false;
    for (int i = 0, count = list_processes(); i < count; i++)
        if (processes[i].pid > 1 && processes[i].pid != guarding->pid && !processes[i].zombie && kind_of(&processes[i]) == FOREIGN) return true;
    return false;
}

static void note_opens(void) {
    static union { struct inotify_event first; char room[4096]; } events;
    for (ssize_t got; opens_seen >= 0 && (got = read(opens_seen, &events, sizeof events)) > 0;)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(events.room + at);
            at += (ssize_t)(sizeof *event + event->len);
            for (int i = 0; i < KNOWN_HELD; i++) held_files[i].is_touched |= event->wd < 0 || event->wd == held_files[i].watch;
        }
}

static void watch_held(const char *path, bool anew) {
    struct stat found;
    int watch = inotify_add_watch(opens_seen, path, IN_OPEN);
    if (watch < 0 || stat(path, &found) != 0) return;
    note_opens();
    struct held *file = NULL;
    for (int i = 0; i < KNOWN_HELD && !file; i++)
        if (held_files[i].watch == watch) file = &held_files[i];
    if (file && !anew) return;
    if (!file) {
        file = &held_files[held_count++ % KNOWN_HELD];
        if (file->watch) inotify_rm_watch(opens_seen, file->watch);
    }
    *file = (struct held){watch, found.st_dev, found.st_ino, false};
}

/* What the verifier's own have open for writing. */
static void watch_held_by(pid_t pid) {
    char path[32], link[320];
    struct stat name, found;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry; open_files && (entry = readdir(open_files));) {
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        if (lstat(link, &name) != 0 || !S_ISLNK(name.st_mode) || !(name.st_mode & S_IWUSR)) continue;
        if (stat(link, &found) == 0 && S_ISREG(found.st_mode)) watch_held(link, false);
    }
    if (open_files) closedir(open_files);
}

static bool is_untouched(dev_t device, ino_t number) {
    note_opens();
    for (int i = 0; i < KNOWN_HELD; i++)
        if (held_files[i].watch && held_files[i].device == device && held_files[i].number == number) return !held_files[i].is_touched;
    return false;
}

static bool is_own_file(uint64_t digest, const struct stat *found) {
    const struct own_file *file = &own_files[digest % KNOWN_FILES];
    if (digest == 0 || file->digest != digest) return false;
    if (file->epoch == epoch) return true;
    if (epoch - file->epoch < KNOWN_EPOCHS && !is_later(&found->st_ctim, &epoch_began[(file->epoch + 1) % KNOWN_EPOCHS])) return true;
    if (!is_untouched(found->st_dev, found->st_ino)) return false;
    if (!lives_foreign()) remember_own_file(digest); /* the open that asks would count, too */
    return true;
}

/* A time after every change of a file so far, and not after any to come. A change may have the fine time, but no change is dated before the coarse
 * clock, which may be several ticks late. Where somebody sets the clock back, changes so far may count as later ones. */
static struct timespec time_between_changes(void) {
    const struct timespec pause = {0, 200000};
    struct timespec before, now;
    clock_gettime(CLOCK_REALTIME, &before);
    for (int i = 0; i < 5000; i++) {
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        if (!is_later(&before, &now)) break;
        nanosleep(&pause, NULL);
    }
    return now;
}

/* A process became FOREIGN: what changes from now on may be its work. */
static void begin_epoch(void) {
    if (written_in_epoch == 0) return;
    for (int i = 0, count = list_processes(); i < count; i++)
        if (processes[i].pid > 1 && kind_of(&processes[i]) != FOREIGN) watch_held_by(processes[i].pid);
    epoch_began[++epoch % KNOWN_EPOCHS] = time_between_changes();
    written_in_epoch = 0;
}

/* A name that was made after tested code had started, and leads to something that is no file: a link into /proc, a pipe. */
static bool is_late_name(const char *path) {
    struct stat found;
    return tested_since.tv_sec && lstat(path, &found) == 0 && !S_ISDIR(found.st_mode) && found.st_dev != proc_device && is_later(&found.st_ctim, &tested_since);
}

/* A file that the tested code may have written: one of this user, or newer than the sandbox, where files can be written. */
static bool is_foreign_file(const char *path) {
    static char target[4096];
    struct stat found;
    struct statvfs mounted;
    if (stat(path, &found) != 0 || S_ISDIR(found.st_mode)) return false;
    if (S_ISFIFO(found.st_mode) && is_foreign_pipe(found.st_ino)) return true;
    if (!S_ISREG(found.st_mode) || found.st_dev == proc_device) return is_late_name(path);
    if (statvfs(path, &mounted) == 0 && mounted.f_flag & ST_RDONLY) return false;
    if (!is_later(&found.st_ctim, &began) && (geteuid() == 0 || (found.st_uid != geteuid() && access(path, W_OK) != 0))) return false;
    /* A link of /proc to an open file: by its name, that it may have had. */
    ssize_t length = after(path, "/proc/") ? readlink(path, target, sizeof target - 1) : -1;
    target[length > 0 ? length : 0] = 0;
    char *deleted = strstr(target, " (deleted)");
    if (deleted) *deleted = 0;
    return !is_own_file(digest_of_file(length > 0 ? target : path), &found);
}

static uint64_t digest_of_folder(const char *path);
static uint64_t *slot_of_folder(uint64_t digest);

/* /proc/PID/cwd/x as the path of that folder, and x. */
static void begin_at_folder(const char *path, char *into, size_t size) {
    char link[64];
    static char target[4096];
    int length = 0;
    snprintf(into, size, "%s", path);
    if (sscanf(path, "/proc/%*d/cwd/%n", &length) != 0 || length == 0) sscanf(path, "/proc/%*d/fd/%*d/%n", &length);
    if (length == 0 || length > (int)sizeof link) return;
    snprintf(link, sizeof link, "%.*s", length - 1, path);
    ssize_t got = readlink(link, target, sizeof target - 1);
    if (got <= 0) return;
    target[got] = 0;
    snprintf(into, size, "%s/%s", target, path + length);
}

/* Whether a folder on the way, or a link, came to its place after tested code had started. */
static bool is_in_late_folder(const char *given) {
    static char folder[4096 + 64], path[2 * 4096];
    struct stat found;
    bool is_known = false;
    begin_at_folder(given, path, sizeof path);
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (lstat(folder, &found) != 0) return false;
        const bool is_late = is_later(&found.st_ctim, &tested_since) && found.st_dev != proc_device;
        if (is_late && S_ISLNK(found.st_mode)) return true;
        const bool was_known = is_known;
        is_known = S_ISDIR(found.st_mode) && *slot_of_folder(digest_of_folder(folder));
        if (is_late && was_known && !is_known && known_folder_count < MAX_FOLDERS) return true;
    }
    return false;
}

/* One that was made, changed or moved after tested code had started. */
static bool is_late_file(const char *path) {
    struct stat found, name;
    if (!tested_since.tv_sec || stat(path, &found) != 0) return false;
    bool is_late = is_later(&found.st_ctim, &tested_since);
    bool is_late_link = lstat(path, &name) == 0 && S_ISLNK(name.st_mode) && is_late_name(path);
    return is_late_link || ((is_late || is_in_late_folder(path)) && is_foreign_file(path));
}

/* Python executes no file with such a name that it opens itself. */
static bool is_data(const char *path) {
    static const char *const endings[] = {".json", ".jsonl", ".csv", ".tsv", ".txt", ".xml", ".yaml", ".yml", ".md", ".html", ".log", ".out", ".png", ".jpg", ".jpeg", ".svg", ".pdf"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

/* What a guarded file holds; -1: nothing that can be compared. */
static ssize_t read_guarded(const char *path, char *into) {
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) ? 0 : -1;
    for (ssize_t got = 1; size >= 0 && size < MAX_GUARDED_BYTES && got > 0; size += got > 0 ? got : 0)
        got = read(fd, into + size, (size_t)(MAX_GUARDED_BYTES - size));
    if (fd >= 0) close(fd);
    return size < MAX_GUARDED_BYTES ? size : -1;
}

static bool holds(pid_t pid, const struct stat *file) {
    char path[48];
    struct stat found;
    bool is_held = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry; open_files && !is_held && (entry = readdir(open_files));)
        is_held = fstatat(dirfd(open_files), entry->d_name, &found, 0) == 0 && found.st_dev == file->st_dev && found.st_ino == file->st_ino;
    if (open_files) closedir(open_files);
    return is_held;
}

static bool is_held(const char *path) {
    struct stat file;
    bool is_found = false;
    if (lstat(path, &file) != 0) return false;
    for (int i = 0, count = list_processes(); i < count && !is_found; i++) is_found = processes[i].pid != 1 && holds(processes[i].pid, &file);
    return is_found;
}

static void hold(struct guarded *file) {
    struct stat found;
    file->state = HELD;
    watch_held(file->path, true);
    if (lstat(file->path, &found) != 0) return;
    file->device = found.st_dev;
    file->number = found.st_ino;
}

/* Before tested code starts: what the files hold now was written by the command, however that code may write them later. */
static void keep_contents(void) {
    for (int i = 0; i < guarded_count; i++) {
        if (guarded[i].state != LAST) continue;
        if (is_held(guarded[i].path)) {
            hold(&guarded[i]);
            continue;
        }
        guarded[i].state = KEPT;
        guarded[i].size = read_guarded(guarded[i].path, guarded[i].content);
    }
}

/* No other process opened a HELD file by any name, and it is still the one of that name. Where nothing can be watched, opens by its name count. */
static bool is_still_held(const struct guarded *file) {
    struct stat found;
    if (file->chain || lstat(file->path, &found) != 0) return false;
    return found.st_dev == file->device && found.st_ino == file->number && (opens_seen < 0 || is_untouched(file->device, file->number));
}

/* When nothing that others run can write any more. */
static int32_t whose_content(const struct guarded *file) {
    static char now[MAX_GUARDED_BYTES];
    if (file->state == LAST || (file->state == HELD && is_still_held(file))) return WRITTEN_BY_OWN;
    ssize_t size = file->state == KEPT ? read_guarded(file->path, now) : -1;
    if (size >= 0 && size == file->size && memcmp(now, file->content, (size_t)size) == 0) return WRITTEN_BY_OWN;
    return file->chain ? WRITTEN_BY_OTHERS : NOT_SEEN;
}

static int32_t reported_writer(const struct guarded *file) {
    int32_t writer = whose_content(file);
    return writer == WRITTEN_BY_OWN && is_misled ? WRITTEN_BY_MISLED : writer;
}

static void spoil_output(pid_t pid);

/* `cat x | sh`: the shell executes what the pipe holds. `cat x | tee y | sh`: so does the one behind a program that passes it on. */
static void spread_by_pipe(ino_t pipe) {
    pid_t relays[KNOWN_PIPES];
    int relays_count = 0;
    foreign_pipes[foreign_pipe_count++ % KNOWN_PIPES] = pipe;
    for (int i = 0, count = list_processes(); i < count; i++) {
        struct origin *origin = &origins[processes[i].pid % MAX_PID];
        if (origin->kind != NEUTRAL || origin->start != processes[i].start) continue;
        const bool is_input = pipe_of(processes[i].pid, 0) == pipe;
        if (origin->is_interpreter && ((is_input && origin->executes_input) || origin->pipe == pipe)) origin->kind = FOREIGN;
        else if (!is_input && origin->pipe != pipe) continue;
        origin->relays = true;
        if (relays_count < KNOWN_PIPES) relays[relays_count++] = processes[i].pid;
    }
    for (int i = 0; i < relays_count; i++) spoil_output(relays[i]);
}

/* What it has open for writing is FOREIGN from now on, too (`cat x > y`, `cat x | tee y`). */
static void spoil_output(pid_t pid) {
    char path[32], link[320];
    static char target[4096];
    struct stat name;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry; open_files && (entry = readdir(open_files));) {
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        if (lstat(link, &name) != 0 || !S_ISLNK(name.st_mode) || !(name.st_mode & S_IWUSR)) continue;
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        if (target[0] == '/') forget_own_file(digest_of_file(target));
    }
    if (open_files) closedir(open_files);
    ino_t pipe = pipe_of(pid, 1);
    if (pipe && !is_foreign_pipe(pipe)) spread_by_pipe(pipe);
}

/* A folder, and what holds it by which name. 0: there is none. */
static uint64_t digest_of_folder(const char *path) {
    struct stat found;
    uint64_t digest = lstat(path, &found) == 0 ? digest_of_file(path) : 0;
    return digest ? mix(mix(digest, &found.st_ino, sizeof found.st_ino), &found.st_dev, sizeof found.st_dev) | 1 : 0;
}

static uint64_t *slot_of_folder(uint64_t digest) {
    uint64_t *slot = &known_folders[digest % KNOWN_FOLDERS];
    while (*slot && *slot != digest) slot = slot + 1 < known_folders + KNOWN_FOLDERS ? slot + 1 : known_folders;
    return slot;
}

static void know_folders(const char *path, int depth) {
    char below[4096];
    uint64_t digest = digest_of_folder(path);
    if (!digest || known_folder_count >= MAX_FOLDERS) return;
    *slot_of_folder(digest) = digest;
    known_folder_count++;
    DIR *folder = depth < MAX_DEPTH ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && strcmp(entry->d_name, "node_modules") != 0 &&
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below)
            know_folders(below, depth + 1);
    if (folder) closedir(folder);
}

static void become_foreign(pid_t pid, struct origin *origin) {
    if (!tested_since.tv_sec) {
        tested_since = time_between_changes();
        if (work_folder[0]) know_folders(work_folder, 0);
    }
    keep_contents();
    origin->kind = FOREIGN;
    origins[pid] = *origin;
    spoil_output(pid);
    begin_epoch();
}

static bool is_pending(const struct seccomp_notif *call) {
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0;
}

/* The path that an argument is, if it is one. */
static const char *path_of_argument(pid_t pid, const char *argument) {
    static char path[4096 + 64];
    char link[64];
    name_folder(pid, AT_FDCWD, link, sizeof link);
    ssize_t length = argument[0] == '/' ? 0 : readlink(link, path, 4095);
    while (length > 0 && after(argument, "./")) argument += 2;
    if (length < 0) length = 0;
    snprintf(path + length, sizeof path - (size_t)length, length > 1 ? "/%s" : "%s", argument);
    return path;
}

static bool is_own_program(const char *path) {
    for (int i = 0; i < own_count; i++) {
        bool is_folder = own_programs[i][strlen(own_programs[i]) - 1] == '/';
        if (is_folder ? after(path, own_programs[i]) != NULL : strcmp(path, own_programs[i]) == 0) return true;
    }
    return false;
}

static bool names_guarded(const char *code) {
    for (int i = 0; i < guarded_count; i++)
        if (strstr(code, strrchr(guarded[i].path, '/') + 1)) return true;
    return false;
}

/* Which argument decides what a program executes: a script, or text after an option such as -c. Later arguments may come from the tested code. */
enum { IS_OPTION, IS_CODE, IS_OWN_PROGRAM, IS_OTHER, IS_INPUT };

static bool is_shell(const char *name) {
    static const char *const names[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static int kind_of_option(const char *program, const char *option) {
    if (option[1] == 0) return IS_INPUT;
    if (option[1] == '-') return IS_OPTION;
    if (is_shell(program)) return strchr(option, 'c') ? IS_CODE : strchr(option, 's') ? IS_INPUT : IS_OPTION;
    if (strcmp(option, "-m") == 0) return IS_OTHER;
    return strchr("ce", option[strlen(option) - 1]) ? IS_CODE : IS_OPTION;
}

static int kind_of_argument(pid_t pid, const char *program, const char *argument, int before) {
    if (before != IS_CODE && argument[0] == '-') return kind_of_option(program, argument);
    const char *path = path_of_argument(pid, argument);
    const bool exists = access(path, F_OK) == 0;
    if (before == IS_CODE && !exists) return names_guarded(argument) ? IS_OWN_PROGRAM : IS_OTHER;
    if (is_own_program(path) && !is_late_file(path)) return IS_OWN_PROGRAM;
    return exists ? IS_OTHER : IS_OPTION; /* the value of an option */
}

/* Without what differs from run to run: numbers, and names of temporary folders. */
static uint64_t mix_argument(uint64_t chain, const char *argument) {
    for (; *argument; argument++) {
        const char *name = after(argument, "/tmp/");
        if (name) argument = name + strcspn(name, "/:,= \n") - 1;
        else if (*argument < '0' || *argument > '9') chain = mix(chain, argument, 1);
    }
    return mix(chain, "", 1);
}

/* What the arguments say that it executes. They become part of the chain. */
static int read_arguments(pid_t pid, uint64_t list, const char *program, uint64_t *chain) {
    static char argument[1 << 14];
    int kind = IS_OPTION;
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
        uint64_t address = 0;
        if (read_caller(pid, list + (uint64_t)i * sizeof address, &address, sizeof address) != sizeof address || address == 0) break;
        if (!read_path(pid, address, argument, sizeof argument)) break;
        if (i > 0 && kind < IS_OWN_PROGRAM) kind = kind_of_argument(pid, program, argument, kind);
        *chain = mix_argument(*chain, argument);
    }
    return kind;
}

static bool is_python(const char *name) {
    const char *version = after(name, "python");
    return version && strspn(version, "0123456789.") == strlen(version);
}

/* Programs that execute their input if no argument names a script. */
static bool is_interpreter(const char *name) {
    static const char *const names[] = {
        "node", "deno", "bun", "perl", "ruby", "irb", "php", "lua", "luajit", "fish", "csh", "tcsh", "busybox", "pypy", "pypy3", "ipython", "ipython3", "R", "Rscript",
        "julia", "octave", "octave-cli", "gnuplot", "tclsh", "expect", "wish", "ghci", "ocaml", "guile", "racket", "sbcl", "clisp", "swipl", "erl", "iex", "elixir", "scala",
        "jshell", "groovysh", "pwsh", "gp", "gdb", "lldb", "ed", "ex", "vi", "vim", "make", "gmake", "sqlite3", "duckdb", "psql", "mysql", "mariadb", "m4",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return is_shell(name) || is_python(name);
}

/* A shell may execute its standard input. */
static bool has_foreign_input(pid_t pid, bool is_python) {
    static char target[4096];
    char link[32];
    snprintf(link, sizeof link, "/proc/%d/fd/0", pid);
    if (pipe_of(pid, 0) || !is_foreign_file(link)) return false;
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    return !(is_python && is_data(target));
}

/* A shell reads its script as it goes: tested code may have changed what it has not read yet. */
static bool has_changed_script(pid_t pid) {
    static const int kept_by_shells[] = {255, 10, 11, 12};
    char link[32];
    struct stat name, found;
    for (size_t i = 0; i < sizeof kept_by_shells / sizeof *kept_by_shells; i++) {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, kept_by_shells[i]);
        if (lstat(link, &name) != 0 || name.st_mode & S_IWUSR) continue; /* open for writing */
        if (stat(link, &found) == 0 && S_ISREG(found.st_mode) && is_later(&found.st_ctim, &tested_since) && is_foreign_file(link)) return true;
    }
    return false;
}

static bool executes_changed_script(pid_t pid, const struct origin *origin) {
    return tested_since.tv_sec && (origin->is_shell || pid == guarding->pid) && has_changed_script(pid);
}

/* The kernel itself opens what a script names in its first line, and what that names: no call shows it. */
static bool has_late_interpreter(pid_t pid, const char *program) {
    static char path[4096 + 64];
    char line[256];
    snprintf(path, sizeof path, "%s", program);
    for (int depth = 0; tested_since.tv_sec && depth < MAX_DEPTH; depth++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t got = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
        if (fd >= 0) close(fd);
        line[got > 0 ? got : 0] = 0;
        if (!after(line, "#!")) return false;
        char *name = line + 2 + strspn(line + 2, " \t");
        name[strcspn(name, " \t\n")] = 0;
        if (!name[0]) return false;
        snprintf(path, sizeof path, "%s", path_of_argument(pid, name));
        if (is_late_file(path)) return true;
    }
    return false;
}

/* What is to be executed, and its arguments -> what the process will be. */
static void take_program(struct origin *origin, pid_t pid, const char *resolved, int kind) {
    const char *name = strrchr(resolved, '/') + 1;
    const bool is_scripted = has_late_interpreter(pid, resolved), is_foreign = is_scripted || is_foreign_file(resolved);
    const bool is_late = is_scripted || (is_foreign && is_late_file(resolved));
    const ino_t input = pipe_of(pid, 0);
    origin->is_python = is_python(name);
    origin->is_shell = is_shell(name);
    origin->is_interpreter = is_interpreter(name);
    origin->executes_input = origin->is_interpreter && (kind == IS_OPTION || kind == IS_INPUT);
    origin->pipe = 0;
    origin->relays = is_foreign_pipe(input);
    const bool is_named = kind == IS_OWN_PROGRAM && (!is_foreign || (origin->is_python && !is_late));
    const bool is_own = is_named || (is_own_program(resolved) && !is_late);
    const bool is_fed = origin->executes_input && origin->relays;
    origin->kind = is_own ? OWN : NEUTRAL;
    if (!is_own && (is_foreign || is_fed || has_foreign_input(pid, origin->is_python))) {
        become_foreign(pid, origin);
        return;
    }
    origins[pid] = *origin;
    if (origin->relays) spoil_output(pid);
}

static void look_at_start(const struct seccomp_notif *call, uint32_t shown) {
    static char path[4096], resolved[4096 + 64];
    const __u64 *args = call->data.args;
    const pid_t thread = (pid_t)call->pid, pid = process_of(thread);
    const int first = shown == EXEC_1 ? 1 : 0, folder = first ? (int)args[0] : AT_FDCWD;
    if (pid <= 1 || pid >= MAX_PID || pid == guarding->pid || !read_path(thread, args[first], path, sizeof path)) return;
    if (path[0]) resolve(thread, folder, path, resolved, sizeof resolved);
    else name_folder(thread, folder, resolved, sizeof resolved);
    if (access(resolved, X_OK) != 0) return; /* the search of PATH goes on */
    struct origin origin = origin_of(pid);
    if (!is_pending(call)) return;
    if (origin.kind != FOREIGN && executes_changed_script(pid, &origin)) become_foreign(pid, &origin);
    if (origin.kind == FOREIGN) { /* its arguments may be anything */
        origins[pid].chain = mix(origin.chain, "", 1);
        origins[pid].by_data = false;
        return;
    }
    const int kind = read_arguments(thread, args[first + 1], strrchr(resolved, '/') + 1, &origin.chain);
    take_program(&origin, pid, resolved, kind);
}

/* The caller's own descriptors by their names in /dev. */
static const char *below_dev(const char *path, char *into, size_t size) {
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    const char *number = after(path, "/dev/fd/");
    for (int i = 0; i < 3; i++)
        if (strcmp(path, names[i]) == 0) number = &"0\0001\0002"[2 * i];
    if (!number) return path;
    snprintf(into, size, "/proc/self/fd/%.12s", number);
    return into;
}

/* The path of an open or a move; of a move, from where it leads or where to. */
static bool read_place(const struct seccomp_notif *call, uint32_t shown, bool is_target, char *resolved, size_t size) {
    static char path[4096];
    const pid_t pid = (pid_t)call->pid;
    const bool has_folder = shown == OPEN_1 || shown == OPEN2_1 || shown == MOVE_1, moves = shown == MOVE_0 || shown == MOVE_1;
    const int at = (has_folder ? 1 : 0) + (moves && is_target ? (has_folder ? 2 : 1) : 0);
    if (!read_path(pid, call->data.args[at], path, sizeof path)) return false;
    char own[64];
    resolve(pid, has_folder ? (int)call->data.args[at - 1] : AT_FDCWD, below_dev(path, own, sizeof own), resolved, size);
    return true;
}

/* Of an open; of anything else those that replace a file. */
static uint64_t flags_of_call(const struct seccomp_notif *call, uint32_t shown) {
    uint64_t flags = 0;
    switch (shown) {
        case OPEN_0: return call->data.args[1];
        case OPEN_1: return call->data.args[2];
        case OPEN2_1: return read_caller((pid_t)call->pid, call->data.args[2], &flags, sizeof flags) == sizeof flags ? flags : 0;
        default: return O_WRONLY | O_CREAT | O_TRUNC;
    }
}

/* What a shell executes before anything else. */
static bool is_start_file(const char *name) {
    static const char *const names[] = {".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_logout", ".zshenv", ".zprofile", ".zshrc", ".kshrc", ".mkshrc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* By its name, a part of a program in Python. */
static bool is_code(const char *path) {
    const char *name = strrchr(path, '/'), *dot = name ? strrchr(name, '.') : NULL;
    return dot && (strcmp(dot, ".py") == 0 || strcmp(dot, ".pyc") == 0 || strcmp(dot, ".pth") == 0 || strstr(name, ".so"));
}

static const char *slash_before(const char *path, const char *slash) {
    do slash--;
    while (slash > path && *slash != '/');
    return slash;
}

/* json.py, json/__init__.py, __pycache__/json.cpython-311.pyc: all are the module `json`. Its name, and how long that is. */
static const char *module_of(const char *path, int *length) {
    const char *name = strrchr(path, '/');
    if (after(name, "/__init__.")) name = slash_before(path, name);
    if (after(name, "/__pycache__/")) name = slash_before(path, name);
    *length = (int)strcspn(name + 1, "./");
    return name + 1;
}

static bool has_module(const char *place, const char *name, int length) {
    bool is_found = false;
    DIR *modules = opendir(place);
    for (struct dirent *entry; modules && !is_found && (entry = readdir(modules));)
        is_found = strncmp(entry->d_name, name, (size_t)length) == 0 && (entry->d_name[length] == 0 || entry->d_name[length] == '.');
    if (modules) closedir(modules);
    return is_found;
}

/* /usr/bin/python3 -> /usr/lib/python3.11, and what is installed below it. */
static bool has_library(char *program, const char *name, int length) {
    static const char *const parts[] = {"", "/site-packages", "/dist-packages", "/lib-dynload"};
    char place[4096 + 64 + 300];
    bool is_found = false;
    char *end = strstr(program, "/bin/");
    if (!end) return false;
    strcpy(end, "/lib");
    DIR *libraries = opendir(program);
    for (struct dirent *entry; libraries && !is_found && (entry = readdir(libraries));)
        for (size_t i = 0; after(entry->d_name, "python") && i < sizeof parts / sizeof *parts && !is_found; i++) {
            snprintf(place, sizeof place, "%s/%s%s", program, entry->d_name, parts[i]);
            is_found = has_module(place, name, length);
        }
    if (libraries) closedir(libraries);
    return is_found;
}

/* Of the interpreter, and of the environment by whose link it was started. */
static bool is_name_of_library(pid_t thread, const char *name, int length) {
    static char program[4096 + 64], given[4096];
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/exe", thread);
    ssize_t got = readlink(path, program, 4095);
    program[got > 0 ? got : 0] = 0;
    if (has_library(program, name, length)) return true;
    snprintf(path, sizeof path, "/proc/%d/cmdline", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : read(fd, given, sizeof given - 1);
    if (fd >= 0) close(fd);
    given[got > 0 ? got : 0] = 0;
    snprintf(program, sizeof program, "%s", path_of_argument(thread, given));
    return has_library(program, name, length);
}

static bool is_of_system(const char *path) {
    return after(path, "/usr/") || after(path, "/lib") || after(path, "/etc/") || after(path, "/opt/");
}

/* What each program in Python loads. */
static bool is_for_all(const char *path) {
    const char *name = strrchr(path, '/'), *dot = strrchr(path, '.');
    return strstr(path, "-packages/") || (dot && strcmp(dot, ".pth") == 0) || (name && (after(name, "/usercustomize.") || after(name, "/sitecustomize.")));
}

/* A part of a program that tested code may have left for another one, in place of a library or of what a shell reads at its start. Other new
 * modules are the work's: it may build them. */
static bool is_late_code(pid_t thread, const char *path) {
    const char *name = strrchr(path, '/');
    int length;
    if (!tested_since.tv_sec || !name) return false;
    const bool is_start = is_start_file(name + 1) || strcmp(name, "/ld.so.preload") == 0;
    if (!(is_start || is_code(path) || is_for_all(path)) || !is_late_file(path)) return false;
    if (is_start || is_for_all(path) || is_of_system(path)) return true;
    const char *module = module_of(path, &length);
    return is_name_of_library(thread, module, length);
}

/* Late code that no verifier and no build leaves: what each Python or shell of this user starts with, or a module with the name of a library in a folder
 * that is none of libraries. Byte code is as late as its source: the first import of an untouched library writes it, whoever imports. */
static bool is_planted(pid_t thread, const char *path) {
    static char source[4096 + 64];
    const char *name = strrchr(path, '/'), *cached = strstr(path, "/__pycache__/");
    int length;
    if (!name) return false;
    snprintf(source, sizeof source, "%s", path);
    if (cached) snprintf(source, sizeof source, "%.*s/%.*s.py", (int)(cached - path), path, (int)strcspn(name + 1, "."), name + 1);
    if (cached && !is_late_file(source)) return false;
    if (is_start_file(name + 1)) return true;
    const bool is_for_user = strstr(path, "/.local/lib/python"), is_hook = is_for_all(strrchr(source, '/')), is_library = strstr(path, "-packages/");
    if (is_hook || is_library) return is_hook && (is_for_user || is_of_system(path));
    const char *module = module_of(path, &length);
    return is_code(path) && is_name_of_library(thread, module, length);
}

static bool is_pipe(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISFIFO(found.st_mode);
}

/* Whether what it opens may be executed by it, and is the tested code's. */
static bool is_foreign_load(const struct origin *origin, const char *path, bool is_late) {
    if (origin->kind == OWN) return is_late;
    if (origin->kind == FOREIGN) return origin->by_data && is_code(path);
    return !(origin->is_python && is_data(path)) && (origin->is_interpreter || is_late_name(path) || !is_pipe(path));
}

/* What is noted under a number, if that still is the process: for a moment too short for all numbers to be used up. UNKNOWN: also for other threads. */
static uint8_t noted_kind(pid_t thread) {
    struct origin *known = &origins[thread % MAX_PID];
    struct process process;
    struct timespec now;
    char name[12];
    if (!known->kind) return UNKNOWN;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const uint32_t moment = (uint32_t)(now.tv_sec * 16 + now.tv_nsec / 62500000) + 1;
    if (known->checked == moment) return known->kind;
    snprintf(name, sizeof name, "%d", thread);
    if (!read_process(name, &process) || process.start != known->start) return UNKNOWN;
    known->checked = moment;
    return known->kind;
}

/* A program, or a part of one, may be read from it. */
static void look_at_load(const struct seccomp_notif *call, uint32_t shown) {
    static char resolved[4096 + 64];
    const pid_t thread = (pid_t)call->pid;
    const uint8_t known = noted_kind(thread);
    if (known == FOREIGN && !origins[thread].by_data) return; /* without a look at each of its opens */
    if ((known == OWN && !tested_since.tv_sec) || !read_place(call, shown, false, resolved, sizeof resolved)) return;
    const bool is_late = is_late_code(thread, resolved), is_foreign = is_late || (known != OWN && is_foreign_file(resolved));
    struct stat found;
    if (!is_foreign && (known == OWN || stat(resolved, &found) != 0 || !S_ISFIFO(found.st_mode))) return;
    const pid_t pid = process_of(thread);
    if (pid <= 1 || pid >= MAX_PID || pid == guarding->pid) return;
    struct origin origin = origin_of(pid);
    if (!is_foreign) origins[pid].pipe = found.st_ino;
    if (!is_foreign || !is_pending(call)) return;
    is_misled |= is_late && origin.kind != FOREIGN && is_planted(thread, resolved);
    if (!is_foreign_load(&origin, resolved, is_late)) {
        if (origin.kind != NEUTRAL || !is_pipe(resolved)) return;
        origins[pid].relays = true;
        spoil_output(pid);
        return;
    }
    int length;
    const char *module = module_of(resolved, &length);
    if (is_late) origin.chain = mix(origin.chain, module, (size_t)length);
    origin.by_data = origin.is_python && !is_code(resolved);
    if (origin.is_python && !origin.by_data) origin.chain = mix(origin.chain, "", 1);
    if (origin.kind == FOREIGN) origins[pid] = origin;
    else become_foreign(pid, &origin);
}

/* What must not write after the command that guards: what does not descend from it, and what is FOREIGN, but never the writer or what waits for it. */
static bool is_to_die(int count, pid_t pid, pid_t own, pid_t writer) {
    if (pid == 1 || descends_from(count, writer, pid)) return false;
    return !descends_from(count, pid, own) || origin_of(pid).kind == FOREIGN;
}

/* How many of these live. One that is gone when it is looked at may have a child that was not listed. */
static int kill_others(pid_t own, pid_t writer, bool kills) {
    int count = list_processes(), living = processes_missed;
    for (int i = 0; i < count; i++) {
        if (processes[i].zombie || !is_to_die(count, processes[i].pid, own, writer)) continue;
        if (kills) kill(processes[i].pid, SIGKILL);
        living++;
    }
    return living;
}

/* Everything is stopped, so that none escapes by a fork. */
static void end_others(pid_t own, pid_t writer) {
    const struct timespec pause = {0, 200000};
    if (kill_others(own, writer, false) == 0) return;
    kill(-1, SIGSTOP);
    /* until its time is over: what is started then is no orphan of it */
    while (guarding->pid == own && kill_others(own, writer, true) > 0) nanosleep(&pause, NULL);
    kill(-1, SIGCONT);
}

/* By the folder itself and the name in it: the caller may be in that folder, or come by a link. */
static struct guarded *find_guarded(char *path) {
    char *slash = strrchr(path, '/');
    struct stat folder, own;
    struct guarded *found = NULL;
    if (!slash || slash == path) return NULL;
    for (int i = 0; i < guarded_count && !found; i++) {
        char *name = strrchr(guarded[i].path, '/');
        if (strcmp(name + 1, slash + 1) != 0) continue;
        *name = *slash = 0;
        if (stat(path, &folder) == 0 && stat(guarded[i].path, &own) == 0 && folder.st_dev == own.st_dev && folder.st_ino == own.st_ino) found = &guarded[i];
        *name = *slash = '/';
    }
    return found;
}

static void remember_writer(struct guarded *file, pid_t pid, uint64_t chain) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, file->writer, MAX_WRITER - 1);
    if (fd >= 0) close(fd);
    file->writer[got > 0 ? got : 0] = 0;
    for (ssize_t i = 0; i + 1 < got; i++)
        if (file->writer[i] == 0) file->writer[i] = ' ';
    file->chain = chain | 1;
}

/* A file beside a guarded one that will be moved onto it (reward.json.new). */
static bool is_draft(const char *path) {
    const char *name = strrchr(path, '/');
    static char other[4096 + 64];
    for (int i = 0; name && i < guarded_count; i++) {
        const char *own = strrchr(guarded[i].path, '/') + 1;
        if (!strstr(name + 1, own) || strcmp(name + 1, own) == 0) continue;
        snprintf(other, sizeof other, "%.*s/%s", (int)(name - path), path, own);
        if (find_guarded(other)) return true;
    }
    return false;
}

/* Of a move, what is moved must have been written by its mover's like: tested code may have been there first. */
static bool moves_own_file(const struct seccomp_notif *call, uint32_t shown) {
    static char source[4096 + 64];
    struct stat moved; /* a folder is not moved onto a file: what is there stays */
    if (!read_place(call, shown, false, source, sizeof source) || lstat(source, &moved) != 0) return false;
    return S_ISREG(moved.st_mode) && moved.st_nlink == 1 && is_own_file(digest_of_file(source), &moved);
}

/* Whether what is there stays: of an open that adds to it, or that fails because it is there. `was_own`: if it stays, it is the caller's like's. */
static bool keeps_what_is_there(const struct seccomp_notif *call, uint32_t shown, const char *path, bool was_own) {
    struct stat found;
    const uint64_t flags = flags_of_call(call, shown);
    if (lstat(path, &found) != 0) return false;
    if (shown == MOVE_1 && call->data.nr == SYS_renameat2 && call->data.args[4] & RENAME_NOREPLACE) return true;
    if (shown == MOVE_0 || shown == MOVE_1) return S_ISDIR(found.st_mode);
    if (flags & O_CREAT && flags & O_EXCL) return true;
    return !(flags & O_TRUNC) && found.st_size > 0 && !was_own;
}

/* 0: not known. */
static uint64_t mount_of(const char *path) {
    struct statx found;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &found) != 0) return 0;
    return found.stx_mask & STATX_MNT_ID ? found.stx_mnt_id : 0;
}

/* Whether the call will fail: tested code may have taken the right to write away, and the verifier gives it back at its end. */
static bool is_refused(const struct seccomp_notif *call, uint32_t shown, const char *path) {
    static char source[4096 + 64];
    struct stat found;
    const uint64_t flags = flags_of_call(call, shown);
    if (shown != MOVE_0 && shown != MOVE_1)
        return (flags & O_CREAT && flags & O_EXCL && lstat(path, &found) == 0) || open_error(path, flags, wanted_by(flags)) != 0;
    if (!read_place(call, shown, false, source, sizeof source)) return false;
    if (change_error(source, false, true) || change_error(path, false, false)) return true;
    const uint64_t from = mount_of(source), to = mount_of(path);
    return from && to && from != to;
}

static bool descends_from_foreign(pid_t pid, pid_t own) {
    struct process process;
    char name[12];
    for (int depth = 0; pid > 1 && pid != own && depth < 4096; depth++) {
        snprintf(name, sizeof name, "%d", pid);
        if (!read_process(name, &process)) return true;
        pid = process.parent;
        if (pid > 1 && pid != own && origin_of(pid).kind == FOREIGN) return true;
    }
    return pid != own;
}

static void note_own_write(const struct seccomp_notif *call, uint32_t shown, const char *path, const struct origin *origin) {
    struct stat found;
    const bool exists = stat(path, &found) == 0;
    if (exists && !S_ISREG(found.st_mode)) return;
    uint64_t digest = digest_of_file(path);
    if (exists && keeps_what_is_there(call, shown, path, is_own_file(digest, &found))) return;
    if (origin->relays || lives_foreign()) forget_own_file(digest);
    else if (digest) remember_own_file(digest);
}

/* Whether a guarded file holds what it held before the call. */
static bool keeps_guarded(const struct seccomp_notif *call, uint32_t shown, const struct guarded *file) {
    struct stat found;
    if (lstat(file->path, &found) == 0 && !S_ISREG(found.st_mode) && shown != MOVE_0 && shown != MOVE_1) return true;
    return keeps_what_is_there(call, shown, file->path, whose_content(file) == WRITTEN_BY_OWN);
}

static void note_guarded_write(struct guarded *file, bool is_own, pid_t pid, uint64_t chain) {
    file->state = is_own ? LAST : NOT_SEEN;
    if (is_own) file->chain = 0;
    else remember_writer(file, pid, chain);
}

static void look_at_write(const struct seccomp_notif *call, uint32_t shown) {
    static char resolved[4096 + 64];
    const pid_t own = guarding->pid, pid = process_of((pid_t)call->pid);
    if (pid <= 1 || !read_place(call, shown, true, resolved, sizeof resolved)) return;
    struct origin origin = pid == own ? (struct origin){.kind = OWN} : origin_of(pid);
    struct guarded *file = find_guarded(resolved);
    const bool is_guarded = file || is_draft(resolved);
    if (is_guarded && origin.kind != FOREIGN && executes_changed_script(pid, &origin)) origin.kind = FOREIGN;
    const bool is_ours = origin.kind != FOREIGN && (!file || descends_from(list_processes(), pid, own));
    if (!is_pending(call)) return;
    if (is_ours && is_guarded) {
        end_others(own, pid);
        if (!is_pending(call)) return; /* they ended it first */
        file = find_guarded(resolved); /* they may have moved the folder meanwhile */
    }
    if (is_ours && is_refused(call, shown, resolved)) return; /* nothing is written */
    const bool moves = shown == MOVE_0 || shown == MOVE_1, is_own = is_ours && (!moves || moves_own_file(call, shown));
    if (is_own) note_own_write(call, shown, resolved, &origin);
    else forget_own_file(digest_of_file(resolved));
    if (!file) return;
    if (!is_ours) remember_writer(file, pid, origin.chain);
    else if (!keeps_guarded(call, shown, file)) note_guarded_write(file, is_own && !descends_from_foreign(pid, own), pid, origin.chain);
}

/* By its path, which may be any: no open of what it cuts is seen. */
static void look_at_cut(const struct seccomp_notif *call) {
    const pid_t pid = process_of((pid_t)call->pid);
    if (pid <= 1 || pid == guarding->pid || origin_of(pid).kind != FOREIGN) return;
    for (int i = 0; i < KNOWN_HELD; i++) held_files[i].is_touched = true;
}

/* Before the call is made; it waits for the answer. */
static void guard(const struct seccomp_notif *call, uint32_t shown) {
    const pid_t own = guarding->pid;
    if (shown == EXEC_0 || shown == EXEC_1) {
        if (own != 0) look_at_start(call, shown);
        forget_memory();
    } else if (own == 0) {
        return;
    } else if (shown == TRUNCATE_0) {
        look_at_cut(call);
    } else if (shown != EXIT) {
        const uint32_t wanted = wanted_by(flags_of_call(call, shown));
        if (wanted & READS) look_at_load(call, shown);
        if (wanted & WRITES) look_at_write(call, shown);
    } else if (is_thread_of((pid_t)call->pid, own)) {
        guarding->status = (int32_t)call->data.args[0];
        guarding->is_leaving = true;
        kill(-1, SIGKILL); /* itself, too: nothing sees its end and writes afterwards */
    }
}
