// systems.hpp - one pair for each batch system: is this process in a job of it, and what its
// variables say.
//
// Of this folder only. A reader fills in what is said and leaves the rest; what cannot be read is
// a line of `doubts`.
#pragma once
#include "batch/allocation.hpp"

namespace holon::batch {

bool is_in_slurm(const Environment& environment);
void read_slurm(const Environment& environment, Allocation& allocation);
bool is_in_pbs(const Environment& environment);  // OpenPBS, PBS Professional and Torque
void read_pbs(const Environment& environment, Allocation& allocation);
bool is_in_lsf(const Environment& environment);
void read_lsf(const Environment& environment, Allocation& allocation);
bool is_in_oar(const Environment& environment);
void read_oar(const Environment& environment, Allocation& allocation);
bool is_in_grid_engine(const Environment& environment);
void read_grid_engine(const Environment& environment, Allocation& allocation);
// Read which of this node's GPUs were granted. PBS, LSF and OAR set CUDA_VISIBLE_DEVICES, which
// counts as it is.
void read_gpus_of_slurm(const Environment& environment, Allocation& allocation);
void read_gpus_of_grid_engine(const Environment& environment, Allocation& allocation);
bool is_in_flux(const Environment& environment);
void read_flux(const Environment& environment, Allocation& allocation);
bool is_in_holon(const Environment& environment);
void read_holon(const Environment& environment, Allocation& allocation);

// The number in a variable; nullopt and a doubt if it is set to something else, nullopt if it is
// not set.
std::optional<std::uint64_t> number_in(const Environment& environment, const char* name,
                                       Allocation& allocation);
// The first of these variables that is set; "": none.
std::string first_of(const Environment& environment, std::initializer_list<const char*> names);
// The contents of a file named by one of these variables; nullopt and a doubt if it cannot be read.
std::optional<std::string> file_in(const Environment& environment,
                                   std::initializer_list<const char*> names,
                                   Allocation& allocation);
void doubt(Allocation& allocation, const std::string& what, const Error& why);

}  // namespace holon::batch
