# skip_unity_of_kernels(FILE...): Highway compiles such a file once for each instruction set by including it again, which
# works for one file in a translation unit. The other files of a folder are compiled several at a time.
function(skip_unity_of_kernels)
  foreach(source ${ARGN})
    file(STRINGS ${source} marks REGEX "define HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(marks)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# viva_module(NAME DEPENDS viva::a ... PRIVATE_LIBRARIES lib ...): the library of one folder, all its .cpp files.

function(viva_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  skip_unity_of_kernels(${sources})
  add_library(viva_${name} STATIC ${sources})
  add_library(viva::${name} ALIAS viva_${name})
  target_include_directories(viva_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(viva_${name} PUBLIC ${ARG_DEPENDS} PRIVATE viva_options ${ARG_PRIVATE_LIBRARIES})
endfunction()
