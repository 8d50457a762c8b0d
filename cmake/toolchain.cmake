# Compiler settings for every target of this repository.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(VIVA_CCACHE ccache)
if(VIVA_CCACHE)
  # Two clones of one commit share their cache: paths count from the root of the tree.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${VIVA_CCACHE})
endif()

add_library(viva_options INTERFACE)
# -ffp-contract=off: a compiler that fuses a*b+c in one loop and not in another changes bits.
target_compile_options(viva_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off)
if(VIVA_SANITIZE)
  target_compile_options(viva_options INTERFACE -fsanitize=${VIVA_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  target_link_options(viva_options INTERFACE -fsanitize=${VIVA_SANITIZE})
  if(VIVA_SANITIZE MATCHES "address,undefined")
    # What the address sanitizer or the processor catches anyway costs a third of the time to compile.
    target_compile_options(viva_options INTERFACE -fno-sanitize=null,vptr,object-size)
  endif()
endif()
