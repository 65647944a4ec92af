# Sources of a directory, sixteen at a time as one: most of what a compiler does for each is headers of the standard library, and
# what templates and inline functions of these become. For builds that are made once, as the gate's; where sources change,
# all that go with them are compiled again.
#
#   sframe_gen_compile_together(TARGET)

# These define names that another of their directory has as well, apart by nothing but being in two sources. If one that is new
# does ("redefinition of ..."), it belongs here. So does one of whose types g++ warns where its file is included
# (-Wsubobject-linkage).
set(sframe_gen_apart
    src/cli/option_table.cpp
    src/trace/dwarf/source_places.cpp
    src/rows/stubs/forms_amd64.cpp
    src/rows/stubs/forms_s390x.cpp
    src/verify/instruction_s390x.cpp
    src/verify/libdwarf.cpp
    tests/cli/report_test.cpp
    tests/cli/run_test.cpp
    tests/emit/encoder_test.cpp
    tests/emit/represent_aarch64_test.cpp
    tests/emit/represent_s390x_test.cpp
    tests/sframe/decoder_versions_test.cpp
    tests/verify/verify_test.cpp)

function(sframe_gen_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  list(TRANSFORM sframe_gen_apart PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE apart)
  set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
