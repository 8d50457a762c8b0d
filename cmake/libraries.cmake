# The libraries viva stands on; docs/layout.md says what each is for.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(dnnl REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)

# Highway compiles a kernel once for each instruction set. These two bring our loops nothing over the ones below them.
add_library(viva_highway INTERFACE)
target_link_libraries(viva_highway INTERFACE hwy::hwy)
set(disabled_targets "HWY_SSSE3|HWY_AVX3_DL")
if(VIVA_BUILD_FUZZ)
  # Nothing that is fuzzed computes.
  target_compile_definitions(viva_highway INTERFACE HWY_COMPILE_ONLY_STATIC)
elseif(VIVA_SANITIZE)
  # One narrow and one wide set: the loops are the same in the others, and their answers are tested without sanitizers.
  string(APPEND disabled_targets "|HWY_SSE4|HWY_AVX3")
endif()
target_compile_definitions(viva_highway INTERFACE "HWY_DISABLED_TARGETS=(${disabled_targets})")
