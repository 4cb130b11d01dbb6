/* NVML for tests: the functions that the agent calls, over a folder in place of a driver.
 *
 * FAKE_NVML_FOLDER holds a number in each file: `count`, and for GPU i `i.limit`, `i.lowest`,
 * `i.highest`, `i.default` (milliwatts). The code in `init.error` is what nvmlInit answers, that in
 * `i.error` what GPU i answers to everything, that in `i.set.error` what it answers to being set.
 * When `driver` changes, the driver was loaded anew: who had opened the library has to open it again.
 * `i.board`, where it is there, is a limit of the board's that may be lower than the one set, and
 * `i.stuck` one that the GPU keeps to whatever is set.
 * Each limit that was set is a line of `sets`.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SUCCESS 0
#define UNINITIALIZED 1
#define INVALID_ARGUMENT 2
#define UNKNOWN 999

typedef void *Device;

static int is_open = 0;
static unsigned opened_with = 0;

static FILE *opened(const char *name, const char *mode) {
    char path[4096];
    const char *folder = getenv("FAKE_NVML_FOLDER");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", name);
    return fopen(path, mode);
}

/* Whether the file `name` holds a number, and which. */
static int number(const char *name, unsigned *value) {
    FILE *file = opened(name, "r");
    if (!file)
        return 0;
    int read = fscanf(file, "%u", value);
    fclose(file);
    return read == 1;
}

static int of_gpu(Device device, const char *what, unsigned *value) {
    char name[64];
    snprintf(name, sizeof name, "%u.%s", (unsigned)(uintptr_t)device - 1, what);
    return number(name, value);
}

/* Whether the library was opened with the driver that is there now. */
static int is_current(void) {
    unsigned driver = 0;
    number("driver", &driver);
    return is_open && driver == opened_with;
}

/* What GPU `device` answers before it looks at the question. */
static int refusal(Device device) {
    unsigned error;
    if (!is_current())
        return UNINITIALIZED;
    return of_gpu(device, "error", &error) ? (int)error : SUCCESS;
}

static int read_value(Device device, const char *what, unsigned *value) {
    int refused = refusal(device);
    if (refused)
        return refused;
    return of_gpu(device, what, value) ? SUCCESS : UNKNOWN;
}

int nvmlInitWithFlags(unsigned flags) {
    unsigned error;
    (void)flags;
    if (number("init.error", &error))
        return (int)error;
    opened_with = 0;
    number("driver", &opened_with);
    is_open = 1;
    return SUCCESS;
}

int nvmlShutdown(void) {
    is_open = 0;
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!is_current())
        return UNINITIALIZED;
    return number("count", count) ? SUCCESS : UNKNOWN;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
    *device = (Device)(uintptr_t)(index + 1);
    return refusal(*device);
}

int nvmlDeviceGetPowerManagementLimit(Device device, unsigned *milliwatts) {
    return read_value(device, "limit", milliwatts);
}

int nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned *milliwatts) {
    return read_value(device, "default", milliwatts);
}

int nvmlDeviceGetPowerManagementLimitConstraints(Device device, unsigned *lowest, unsigned *highest) {
    int refused = read_value(device, "lowest", lowest);
    return refused ? refused : read_value(device, "highest", highest);
}

int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned *milliwatts) {
    unsigned board, stuck;
    int refused = read_value(device, "limit", milliwatts);
    if (!refused && of_gpu(device, "stuck", &stuck))
        *milliwatts = stuck;
    if (!refused && of_gpu(device, "board", &board) && board < *milliwatts)
        *milliwatts = board;
    return refused;
}

int nvmlDeviceSetPowerManagementLimit(Device device, unsigned milliwatts) {
    unsigned lowest, highest, error, index = (unsigned)(uintptr_t)device - 1;
    char name[64], replaced[4200], path[4200];
    const char *folder = getenv("FAKE_NVML_FOLDER");
    int refused = nvmlDeviceGetPowerManagementLimitConstraints(device, &lowest, &highest);
    if (refused)
        return refused;
    if (of_gpu(device, "set.error", &error))
        return (int)error;
    if (milliwatts < lowest || milliwatts > highest)
        return INVALID_ARGUMENT;
    FILE *sets = opened("sets", "a");
    if (!sets)
        return UNKNOWN;
    fprintf(sets, "%u %u\n", index, milliwatts);
    fclose(sets);
    /* Whoever reads meanwhile sees the old limit or the new one. */
    snprintf(name, sizeof name, "%u.limit.new", index);
    FILE *file = opened(name, "w");
    if (!file)
        return UNKNOWN;
    fprintf(file, "%u\n", milliwatts);
    fclose(file);
    snprintf(replaced, sizeof replaced, "%s/%u.limit.new", folder ? folder : ".", index);
    snprintf(path, sizeof path, "%s/%u.limit", folder ? folder : ".", index);
    return rename(replaced, path) ? UNKNOWN : SUCCESS;
}
