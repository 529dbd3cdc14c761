# Third-party parts, linked statically so that the binary moves to machines without -dev packages.
# Each comes from a Debian package: docs/dependencies.md says which and why.
find_package(Threads REQUIRED)

function(cutegen_static name header)  # name header libraries...
  add_library(${name} INTERFACE)
  find_path(${name}_INCLUDE ${header} REQUIRED)
  foreach(lib ${ARGN})
    find_library(${name}_${lib} ${lib} REQUIRED)
    target_link_libraries(${name} INTERFACE ${${name}_${lib}})
  endforeach()
  target_include_directories(${name} SYSTEM INTERFACE ${${name}_INCLUDE})
endfunction()

cutegen_static(sodium_static sodium.h libsodium.a)
cutegen_static(sqlite_static sqlite3.h libsqlite3.a)
target_link_libraries(sqlite_static INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
cutegen_static(zstd_static zstd.h libzstd.a)
cutegen_static(lz4_static lz4.h liblz4.a)
# fmt and spdlog header-only: Debian ships their archives in the -dev packages, but built without LTO and with
# their own flags; header-only keeps sanitizer builds whole.
cutegen_static(fmt_static fmt/format.h)
target_compile_definitions(fmt_static INTERFACE FMT_HEADER_ONLY=1)
cutegen_static(spdlog_static spdlog/spdlog.h)
target_compile_definitions(spdlog_static INTERFACE SPDLOG_FMT_EXTERNAL=1 SPDLOG_HEADER_ONLY=1)
target_link_libraries(spdlog_static INTERFACE fmt_static)
cutegen_static(json_headers nlohmann/json.hpp)
cutegen_static(cli11_headers CLI/CLI.hpp)
cutegen_static(mustache_headers kainjow/mustache.hpp)
if(CUTEGEN_TESTS)
  find_package(GTest REQUIRED)
  enable_testing()
  include(GoogleTest)
endif()
if(CUTEGEN_BENCH)
  find_package(benchmark REQUIRED)
endif()
