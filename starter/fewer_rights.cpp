#include "starter/fewer_rights.hpp"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOLON_CALLS_OF_ITS_OWN  // a sanitizer makes calls that no list here knows
#endif

namespace holon::starter {
namespace {

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
};

int keep(std::uint32_t which) {
  Capabilities caps;
  caps.data[0].effective = caps.data[0].permitted = which;
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  return syscall(SYS_capset, &caps.header, caps.data.data()) == 0 ? 0 : errno;
}

constexpr std::uint32_t bit(int capability) {
  return 1U << static_cast<unsigned>(capability);
}

}  // namespace

int keep_starting() {
  return keep(bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_KILL));
}

int keep_signalling() {
  return keep(bit(CAP_KILL));
}

bool has_capabilities() {
  Capabilities caps;
  if (syscall(SYS_capget, &caps.header, caps.data.data()) != 0) return true;
  for (const auto& half : caps.data)
    if ((half.effective | half.permitted | half.inheritable) != 0) return true;
  return false;
}

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(HOLON_CALLS_OF_ITS_OWN)
int keep_few_calls() {
#if defined(__x86_64__)
  constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#else
  constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#endif
  const auto kCalls = std::to_array<std::uint32_t>({
    SYS_read, SYS_ppoll, SYS_sendto, SYS_sendmsg, SYS_recvfrom, SYS_recvmsg, SYS_kill, SYS_wait4,
        SYS_waitid, SYS_close, SYS_openat, SYS_getdents64, SYS_newfstatat, SYS_fstat, SYS_lseek,
        SYS_clock_nanosleep, SYS_nanosleep, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise,
        SYS_getpid, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit,
        SYS_exit_group,
#if defined(__x86_64__)
        SYS_poll
#else
        SYS_fcntl
#endif
  });
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const std::uint32_t call : kCalls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 ? 0 : errno;
}
#else
int keep_few_calls() {
  return 0;
}
#endif

}  // namespace holon::starter
