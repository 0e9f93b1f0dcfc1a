// Writes the counters of the model that this thread opened last, as Verilator's plain text.

#include "verilated.h"
#include "verilated_cov.h"

extern "C" __attribute__((visibility("default"))) void coverage_write(const char* path) {
    Verilated::threadContextp()->coveragep()->write(path);
}
