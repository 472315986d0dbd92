// start_options.hpp - options of whoever makes an instance: start, batch, alloc.
#pragma once
#include <string>
#include <vector>

#include "cli/parser/parser.hpp"
#include "instance/basics/options.hpp"

namespace holon::cli {

// Adds --conf.
void add_configuration_option(Parser& parser, instance::StartOptions& options);
// Puts the files that HOLON_CONF names, separated by ':', before all others, so that --conf wins.
// Errors: invalid_argument (a word that is no file, or a file that cannot be read).
Status add_configuration_of_environment(std::vector<std::string>& conf);
// Adds --conf, and what the instance is to do when it has lost a node.
void add_instance_options(Parser& parser, instance::StartOptions& options);

// The command line of a job that is a child instance: `holon start --grant ...`, with the absolute
// name of this program and of the files that --conf names. Errors: system; those of
// config::load_config.
Result<std::vector<std::string>> child_command(const instance::StartOptions& options);

// The file of this program. Errors: system.
Result<std::string> own_binary();

// Puts this program's folder into PATH for the processes that it starts: `holon` in scripts then
// means this program, wherever it was started from.
void put_own_folder_in_path();

}  // namespace holon::cli
