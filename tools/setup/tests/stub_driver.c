/* A stand-in for NVIDIA's libcuda.so.1, to run MXNet's GPU build without a
 * driver. It has no GPU, or as many as STUB_GPUS says, of the capability
 * STUB_CAPABILITY (90 is 9.0), on which nothing works. STUB_VERSION is the
 * CUDA version of the driver (11040 is 11.4).
 *
 *     gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so.1 stub_driver.c
 */
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NO_DEVICE = 100, NO_BINARY = 209 };

static int setting(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

static int gpus(void) { return setting("STUB_GPUS", 0); }

int cuInit(unsigned flags) { return gpus() ? SUCCESS : NO_DEVICE; }

int cuDriverGetVersion(int *version) {
    *version = setting("STUB_VERSION", 11040);
    return SUCCESS;
}

int cuDeviceGetCount(int *count) {
    *count = gpus();
    return gpus() ? SUCCESS : NO_DEVICE;
}

int cuDeviceGet(int *device, int i) {
    *device = i;
    return i < gpus() ? SUCCESS : NO_DEVICE;
}

int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, "Stand-in", length);
    return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = (size_t)16 << 30;
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    int capability = setting("STUB_CAPABILITY", 90);
    *value = attribute == 75 ? capability / 10
             : attribute == 76 ? capability % 10 : 0;
    return SUCCESS;
}

int cuGetErrorString(int error, const char **text) {
    *text = "no kernel image is available for execution on the device";
    return SUCCESS;
}

/* What else libmxnet.so is linked with. */
#define NOT_HERE(name) int name(void) { return NO_BINARY; }
NOT_HERE(cuDevicePrimaryCtxRetain)
NOT_HERE(cuGraphKernelNodeGetParams)
NOT_HERE(cuGraphNodeGetType)
NOT_HERE(cuLaunchKernel)
NOT_HERE(cuModuleGetFunction)
NOT_HERE(cuModuleLoadData)
NOT_HERE(cuModuleLoadDataEx)
NOT_HERE(cuModuleUnload)
