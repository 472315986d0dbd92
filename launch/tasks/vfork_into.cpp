#include "launch/tasks/vfork_into.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOLON_OWN_MEMORY  // the sanitizers' notes about memory must not be shared
#endif

// The return address must survive the child, which returns first: it is kept in a register, as
// glibc's vfork(2) does.
#if defined(__x86_64__) && !defined(HOLON_OWN_MEMORY)
asm(R"(
    .text
    .globl holon_vfork_clone3
    .type holon_vfork_clone3, @function
holon_vfork_clone3:
    popq %rdx
    movl $435, %eax
    syscall
    pushq %rdx
    ret
    .size holon_vfork_clone3, .-holon_vfork_clone3
)");
#elif defined(__aarch64__) && !defined(HOLON_OWN_MEMORY)
asm(R"(
    .text
    .globl holon_vfork_clone3
    .type holon_vfork_clone3, %function
holon_vfork_clone3:
    mov x8, #435
    svc #0
    ret
    .size holon_vfork_clone3, .-holon_vfork_clone3
)");
#else
// Copies the memory, as fork(2) does: slower, with the same effect.
extern "C" long holon_vfork_clone3(clone_args* how, std::size_t size) {
  how->flags &= ~static_cast<unsigned long long>(CLONE_VM);
  const long pid = syscall(SYS_clone3, how, size);
  return pid < 0 ? -errno : pid;
}
#endif
