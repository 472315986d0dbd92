// vfork_into.hpp - vfork(2) with a child that begins in another cgroup: clone3(2) with
// CLONE_INTO_CGROUP, for which glibc 2.36 has no function.
//
// Moving a process after its start costs some milliseconds (the kernel stops all forks of the
// machine for that); starting it there costs nothing.
#pragma once
#include <linux/sched.h>
#include <sys/types.h>

#include <cstddef>

// Like syscall(SYS_clone3, how, size) for `how` with CLONE_VM and CLONE_VFORK, which no C function
// can return from twice: the child uses up the stack below. Returns -errno on errors.
extern "C" long holon_vfork_clone3(clone_args* how, std::size_t size)
    __attribute__((returns_twice));
