/* functions.h: the functions of libcuda.so.1 that are used: name, symbol (with the version
 * that cuda.h maps its name to), arguments. Included by driver.h and driver.c.
 */
LEAT_CUDA_FUNCTION(init, "cuInit", (unsigned int flags))
LEAT_CUDA_FUNCTION(error_name, "cuGetErrorName", (leat_cuda_result result, const char **ret_name))
LEAT_CUDA_FUNCTION(error_text, "cuGetErrorString", (leat_cuda_result result, const char **ret_text))
LEAT_CUDA_FUNCTION(get, "cuDeviceGet", (leat_cuda_device_id * ret_device, int ordinal))
LEAT_CUDA_FUNCTION(name, "cuDeviceGetName", (char *name, int size, leat_cuda_device_id device))
LEAT_CUDA_FUNCTION(attribute, "cuDeviceGetAttribute",
                   (int *ret_value, int attribute, leat_cuda_device_id device))
LEAT_CUDA_FUNCTION(retain, "cuDevicePrimaryCtxRetain",
                   (void **ret_context, leat_cuda_device_id device))
LEAT_CUDA_FUNCTION(release, "cuDevicePrimaryCtxRelease_v2", (leat_cuda_device_id device))
LEAT_CUDA_FUNCTION(push, "cuCtxPushCurrent_v2", (void *context))
LEAT_CUDA_FUNCTION(pop, "cuCtxPopCurrent_v2", (void **ret_context))
LEAT_CUDA_FUNCTION(host_register, "cuMemHostRegister_v2",
                   (void *memory, size_t n_bytes, unsigned int flags))
LEAT_CUDA_FUNCTION(host_unregister, "cuMemHostUnregister", (void *memory))
LEAT_CUDA_FUNCTION(alloc, "cuMemAlloc_v2", (leat_cuda_address * ret_address, size_t n_bytes))
LEAT_CUDA_FUNCTION(free, "cuMemFree_v2", (leat_cuda_address address))
LEAT_CUDA_FUNCTION(copy_to_device, "cuMemcpyHtoDAsync_v2",
                   (leat_cuda_address to, const void *from, size_t n_bytes, void *stream))
LEAT_CUDA_FUNCTION(stream_create, "cuStreamCreate", (void **ret_stream, unsigned int flags))
LEAT_CUDA_FUNCTION(stream_destroy, "cuStreamDestroy_v2", (void *stream))
LEAT_CUDA_FUNCTION(stream_wait_event, "cuStreamWaitEvent",
                   (void *stream, void *event, unsigned int flags))
LEAT_CUDA_FUNCTION(event_create, "cuEventCreate", (void **ret_event, unsigned int flags))
LEAT_CUDA_FUNCTION(event_destroy, "cuEventDestroy_v2", (void *event))
LEAT_CUDA_FUNCTION(event_record, "cuEventRecord", (void *event, void *stream))
LEAT_CUDA_FUNCTION(event_query, "cuEventQuery", (void *event))
LEAT_CUDA_FUNCTION(event_synchronize, "cuEventSynchronize", (void *event))
