// start_options.hpp - options of whoever makes an instance: start, batch, alloc.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/job_options.hpp"
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

// Adds --tree and --conf-level.
void add_tree_options(Parser& parser, instance::StartOptions& options);
// Checks them together, once all options are read, and makes what is for level 0 part of the
// instance's own configuration. Files of other levels get their absolute names, policies their
// texts. Errors: invalid_argument; those of config::load_config, with the level.
Status take_tree(instance::StartOptions& options);

// --elastic: a child that asks for more cores by itself (docs/elastic.md).
struct ElasticOption {
  std::string word;                  // as it was typed; "": not at all
  std::int64_t least = 0, most = 0;  // cores; least 0: what -n says
};
// Reads "8", "2-8". Errors: invalid_argument.
Status read_elastic(const std::string& word, ElasticOption& option);
void add_elastic_option(Parser& parser, ElasticOption& option);
// Makes it part of the child's configuration, and of what the child begins with. Call once all
// options are read. Errors: invalid_argument.
Status take_elastic(const ElasticOption& option, JobOptions& job, instance::StartOptions& instance);

// The command line of a job that is a child instance: `holon start --grant ...`, with the absolute
// name of this program and of the files that --conf names. Errors: system; those of
// config::load_config.
Result<std::vector<std::string>> child_command(const instance::StartOptions& options);

// The initial program of such a child: a script by its absolute name, so that the child finds it
// from wherever it runs. Errors: invalid_argument (there is none, or it may not be executed);
// `otherwise` says what takes a command instead, "--wrap".
Result<std::vector<std::string>> script_by_name(std::vector<std::string> program,
                                                const std::string& otherwise);

// The file of this program. Errors: system.
Result<std::string> own_binary();

// Puts this program's folder into PATH for the processes that it starts: `holon` in scripts then
// means this program, wherever it was started from.
void put_own_folder_in_path();

}  // namespace holon::cli
