# What cpack is told of one package; scripts/package sets the variables of the environment.
set(package $ENV{HOLON_PACKAGE})
set(CPACK_PACKAGE_NAME ${package})
set(CPACK_PACKAGE_VERSION $ENV{HOLON_VERSION})
set(CPACK_PACKAGE_VENDOR "holon")
set(CPACK_PACKAGE_CONTACT "The holon developers <holon@example.org>")
set(CPACK_PACKAGE_DIRECTORY $ENV{HOLON_OUT})
set(CPACK_INSTALLED_DIRECTORIES "$ENV{HOLON_TREE};/")
set(CPACK_PACKAGE_FILE_NAME ${package}-$ENV{HOLON_VERSION})
set(CPACK_INSTALL_CMAKE_PROJECTS "")
set(CPACK_PACKAGING_INSTALL_PREFIX "/")
set(CPACK_SET_DESTDIR OFF)
set(CPACK_STRIP_FILES OFF)
set(CPACK_RESOURCE_FILE_LICENSE $ENV{HOLON_SOURCES}/LICENSE)

set(summary_holon "hierarchical scheduler that is a job of another scheduler")
set(text_holon "holon queues and runs jobs on the machine, or the batch allocation, that you
already have. Each of its jobs can be a scheduler again, with its own queue
and its own policy, to any depth.
.
This is one static program; it needs no library of the machine.")
set(summary_holon-dev "C++ library of the scheduler holon")
set(text_holon-dev "Headers, archives and the CMake package of holon: a client of running
instances, and the scheduler itself as a library, for programs that embed
it: find_package(holon).")
set(summary_python3-holon "Python package of the scheduler holon")
set(text_python3-holon "Jobs of holon as futures, for asyncio or without it, and an executor of
concurrent.futures whose workers are jobs; adapters for joblib, Dask and
Snakemake.")
set(summary_holon-pmix "PMIx server of holon, for jobs of Open MPI")
set(text_holon-pmix "A static program cannot load the library of PMIx. This helper loads it, and
is started by holon's agents beside the tasks of jobs of Open MPI.")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${summary_${package}})
set(CPACK_PACKAGE_DESCRIPTION "${text_${package}}")

# ---- .deb ----
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
if(package STREQUAL "holon")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-holon")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "holon-pmix, holon-dev, munge")
elseif(package STREQUAL "holon-dev")
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "cppzmq-dev, libboost-graph-dev, libedit-dev, libexpected-dev, libfmt-dev, libhwloc-dev, liblua5.4-dev, libmsgpack-cxx-dev, libspdlog-dev, libsqlite3-dev, libsqlitecpp-dev, libtomlplusplus-dev, libyaml-cpp-dev, libzmq3-dev, nlohmann-json3-dev, pkg-config, zlib1g-dev")
elseif(package STREQUAL "python3-holon")
  set(CPACK_DEBIAN_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3:any (>= 3.9)")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "holon, python3-msgpack, python3-cloudpickle")
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-zmq")
elseif(package STREQUAL "holon-pmix")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "holon (= $ENV{HOLON_VERSION}), libpmix2")
endif()
if(package STREQUAL "python3-holon")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA $ENV{HOLON_TREE}/../scripts/postinst $ENV{HOLON_TREE}/../scripts/prerm)
endif()

# ---- .rpm ----
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_GROUP "System/Base")
set(CPACK_RPM_PACKAGE_SUMMARY ${CPACK_PACKAGE_DESCRIPTION_SUMMARY})
string(REPLACE "\n.\n" "\n\n" CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_AUTOREQPROV " no")
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF)
set(CPACK_RPM_COMPRESSION_TYPE xz)
# Folders that belong to the system, as far as a package of the distribution would own them.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr /usr/bin /usr/lib /usr/lib/systemd /usr/lib/systemd/user /usr/libexec /usr/share
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/doc /usr/share/fish /usr/share/fish/vendor_completions.d
    /usr/share/man /usr/share/man/man1 /usr/share/zsh /usr/share/zsh/site-functions)
# Nothing is stripped, compiled or renamed by rpmbuild, and nothing of this machine is in the package.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}
%define debug_package %{nil}
%define _build_id_links none
%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1")
