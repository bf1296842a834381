/* A driver for tests: libnvidia-ml as fake.c has it, and of libcuda what tests/gpu/program.py calls, for GPUs on which processes hold memory and compute.
   All processes share the folder of the library: `environment` has NAME=VALUE lines, `held` a file PID.GPU with bytes for each process on a GPU,
   and `busy.GPU` is as new as the last kernel. A process that has ended holds nothing. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static unsigned long long held_on(long gpu, long *processes);
static int busy_on(long gpu);
#define HELD(gpu, processes) held_on(gpu, processes)
#define BUSY(gpu) busy_on(gpu)
#include "fake.c"

enum { OUT_OF_MEMORY = 2, NO_DEVICE = 100 };
static char folder[3000], path[4000];
static long current;

__attribute__((constructor)) static void begin(void) {
  Dl_info info; char line[300]; FILE *file;
  dladdr((void *)held_on, &info);
  strcpy(folder, info.dli_fname); *strrchr(folder, '/') = 0;
  sprintf(path, "%s/environment", folder);
  if ((file = fopen(path, "r")) == NULL) return;
  while (fgets(line, sizeof line, file)) {
    char *value = strchr(line, '=');
    line[strcspn(line, "\n")] = 0; *value++ = 0; setenv(line, value, 0);
  }
  fclose(file);
}
static unsigned long long held_on(long gpu, long *processes) {
  unsigned long long sum = 0; struct dirent *entry; int pid, on; DIR *held; FILE *file;
  sprintf(path, "%s/held", folder); *processes = 0;
  if ((held = opendir(path)) == NULL) return 0;
  while ((entry = readdir(held))) {
    unsigned long long bytes = 0;
    if (sscanf(entry->d_name, "%d.%d", &pid, &on) != 2 || on != gpu || kill(pid, 0)) continue;
    sprintf(path, "%s/held/%s", folder, entry->d_name);
    if ((file = fopen(path, "r"))) { if (fscanf(file, "%llu", &bytes) == 1) sum += bytes; fclose(file); }
    ++*processes;
  }
  closedir(held); return sum;
}
static int busy_on(long gpu) {
  struct stat info; sprintf(path, "%s/busy.%ld", folder, gpu);
  return stat(path, &info) == 0 && time(NULL) - info.st_mtime < 2;
}
static void hold(unsigned long long bytes) {
  FILE *file; sprintf(path, "%s/held/%d.%ld", folder, getpid(), current);
  if ((file = fopen(path, "w"))) { fprintf(file, "%llu", bytes); fclose(file); }
}
/* The GPU that a process counts as its number-th; -1: it has fewer. */
static long gpu_of(int number) {
  const char *text = getenv("CUDA_VISIBLE_DEVICES"); char copy[200], *word;
  if (text == NULL) return number < gpus() ? number : -1;
  strcpy(copy, text);
  for (word = strtok(copy, ","); word && number--; word = strtok(NULL, ","));
  return word && atoi(word) < gpus() ? atoi(word) : -1;
}
int cuInit(unsigned flags) { return flags == 0 && gpu_of(0) >= 0 ? OK : NO_DEVICE; }
int cuDeviceGetCount(int *count) { for (*count = 0; gpu_of(*count) >= 0; ++*count); return OK; }
int cuDeviceGet(int *device, int number) { *device = number; return OK; }
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) { memset(uuid, 0, 16); uuid[15] = gpu_of(device); return OK; }
int cuDevicePrimaryCtxRetain(void **context, int device) { current = gpu_of(device); *context = &current; hold(500ULL << 20); return OK; }
int cuCtxSetCurrent(void *context) { return context == &current ? OK : 201; }
int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  long processes;
  if (held_on(current, &processes) + bytes > 79ULL << 30) return OUT_OF_MEMORY;
  *pointer = 4096; hold((500ULL << 20) + bytes); return OK;
}
int cuModuleLoadData(void **module, const char *text) { *module = module; return strstr(text, ".entry spin(") ? OK : 218; }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = module; return strcmp(name, "spin") ? 500 : OK; }
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned i, unsigned j, unsigned k, unsigned shared, void *stream, void **words, void **more) {
  FILE *file; sprintf(path, "%s/busy.%ld", folder, current);
  if ((file = fopen(path, "w"))) fclose(file);
  return function && x && y * z * j * k == 1 && i && !shared && !stream && **(unsigned long long **)words && !more ? OK : 1;
}
int cuCtxSynchronize(void) { usleep(20000); return OK; }
