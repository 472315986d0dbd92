// translate_slurm.hpp - what the translations of sbatch(1) and srun(1) share. A private header.
#pragma once
#include <map>
#include <span>
#include <string>

#include "cli/options/translation.hpp"

namespace holon::cli {

std::span<const Equal> rows_of_sbatch();

// What stands for a letter behind '%' in the name of a file.
using WordsOfFiles = std::map<char, std::string>;
// nullopt: a letter is none of these.
Text slurm_file(const std::string& value, const WordsOfFiles& words);

// --mem and --mem-per-cpu, --gpus and its like, --export: to be looked at together with others,
// once the tasks are counted.
void add_memory(Translation& of);
void add_gpus(Translation& of);
void add_exported(Translation& of);

}  // namespace holon::cli
