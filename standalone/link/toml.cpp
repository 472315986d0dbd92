// toml.cpp - the library toml++, of which Debian has no archive, compiled from its own headers.
#define TOML_HEADER_ONLY 0
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
