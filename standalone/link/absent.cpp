// absent.cpp - names that the archives of libzmq and libhwloc mention and that holon never reaches:
// Kerberos, PGM and NORM are transports that no address of holon's names, and without udev hwloc
// reads the same files itself. Debian has no archives of some of these libraries, and all would be
// carried for nothing.
#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void absent(const char* name) {
  std::fprintf(stderr, "holon: %s() is not in a static holon\n", name);
  std::abort();
}

}  // namespace

#define HOLON_ABSENT(name) \
  void name() {            \
    absent(#name);         \
  }

extern "C" {

// libzmq calls these two for each context: PGM has nothing to begin and nothing to end.
int pgm_init(void**) {
  return 1;
}
int pgm_shutdown() {
  return 1;
}
HOLON_ABSENT(pgm_bind3)
HOLON_ABSENT(pgm_close)
HOLON_ABSENT(pgm_connect)
HOLON_ABSENT(pgm_error_free)
HOLON_ABSENT(pgm_free)
HOLON_ABSENT(pgm_freeaddrinfo)
HOLON_ABSENT(pgm_getaddrinfo)
HOLON_ABSENT(pgm_getsockopt)
HOLON_ABSENT(pgm_gsi_create_from_data)
HOLON_ABSENT(pgm_recvmsgv)
HOLON_ABSENT(pgm_send)
HOLON_ABSENT(pgm_setsockopt)
HOLON_ABSENT(pgm_socket)

extern const void* const GSS_C_NT_HOSTBASED_SERVICE;
extern const void* const GSS_C_NT_USER_NAME;
const void* const GSS_C_NT_HOSTBASED_SERVICE = nullptr;
const void* const GSS_C_NT_USER_NAME = nullptr;
HOLON_ABSENT(gss_accept_sec_context)
HOLON_ABSENT(gss_acquire_cred)
HOLON_ABSENT(gss_delete_sec_context)
HOLON_ABSENT(gss_display_name)
HOLON_ABSENT(gss_import_name)
HOLON_ABSENT(gss_init_sec_context)
HOLON_ABSENT(gss_release_buffer)
HOLON_ABSENT(gss_release_cred)
HOLON_ABSENT(gss_release_name)
HOLON_ABSENT(gss_unwrap)
HOLON_ABSENT(gss_wrap)

extern const void* const NORM_INSTANCE_INVALID;
extern const void* const NORM_SESSION_INVALID;
extern const void* const NORM_OBJECT_INVALID;
extern const unsigned long NORM_NODE_ANY;
const void* const NORM_INSTANCE_INVALID = nullptr;
const void* const NORM_SESSION_INVALID = nullptr;
const void* const NORM_OBJECT_INVALID = nullptr;
const unsigned long NORM_NODE_ANY = 0xffffffff;
HOLON_ABSENT(NormCreateInstance)
HOLON_ABSENT(NormCreateSession)
HOLON_ABSENT(NormDestroyInstance)
HOLON_ABSENT(NormDestroySession)
HOLON_ABSENT(NormGetDescriptor)
HOLON_ABSENT(NormGetNextEvent)
HOLON_ABSENT(NormGetRandomSessionId)
HOLON_ABSENT(NormIsUnicastAddress)
HOLON_ABSENT(NormNodeDelete)
HOLON_ABSENT(NormObjectGetType)
HOLON_ABSENT(NormObjectGetUserData)
HOLON_ABSENT(NormObjectSetUserData)
HOLON_ABSENT(NormSetCongestionControl)
HOLON_ABSENT(NormSetDefaultSyncPolicy)
HOLON_ABSENT(NormSetDefaultUnicastNack)
HOLON_ABSENT(NormSetLoopback)
HOLON_ABSENT(NormSetMulticastInterface)
HOLON_ABSENT(NormSetRxPortReuse)
HOLON_ABSENT(NormSetTTL)
HOLON_ABSENT(NormStartReceiver)
HOLON_ABSENT(NormStartSender)
HOLON_ABSENT(NormStopInstance)
HOLON_ABSENT(NormStopReceiver)
HOLON_ABSENT(NormStopSender)
HOLON_ABSENT(NormStreamFlush)
HOLON_ABSENT(NormStreamOpen)
HOLON_ABSENT(NormStreamRead)
HOLON_ABSENT(NormStreamSeekMsgStart)
HOLON_ABSENT(NormStreamWrite)

// hwloc asks this one whether there is udev, and the others only after a yes.
void* udev_new() {
  return nullptr;
}
HOLON_ABSENT(udev_unref)
HOLON_ABSENT(udev_device_new_from_subsystem_sysname)
HOLON_ABSENT(udev_device_get_property_value)
HOLON_ABSENT(udev_device_unref)

}  // extern "C"
