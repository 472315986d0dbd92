// vfork_into.hpp - vfork(2) whose child begins in another cgroup: clone3(2) with
// CLONE_INTO_CGROUP, which glibc 2.36 has no function for.
//
// A process that is moved after it was started costs some milliseconds (the kernel stops all forks
// of the machine for that), one that is started there costs nothing.
#pragma once
#include <linux/sched.h>
#include <sys/types.h>

#include <cstddef>

// As syscall(SYS_clone3, how, size) for `how` with CLONE_VM and CLONE_VFORK, which a C function
// could not return from twice: the child uses up the stack below. Returns -errno for an error.
extern "C" long holon_vfork_clone3(clone_args* how, std::size_t size)
    __attribute__((returns_twice));
