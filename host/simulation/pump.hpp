// What the pumps of a core and of a block share: in which states they return, and what they tell of
// a failure.

#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <exception>

#include "model.hpp"

namespace {

// Why a pump returns: host/simulation/native_library.py repeats these.
enum State { RUNNING, DONE, FAILED, HUNGRY, FULL, UNWRITTEN };

constexpr size_t MESSAGE_BYTES = 256;

// Calls `advance`, whose exceptions become states; `fail` is told what is wrong.
template <class Advance, class Fail>
State guarded(Advance advance, Fail fail) {
    try {
        return advance();
    } catch (const WaveError& error) {
        fail(error.what());
        return UNWRITTEN;
    } catch (const std::exception& error) {
        fail(error.what());
        return FAILED;
    }
}

// Makes a pump. If that fails, it returns null, and tells how and why in `state` and `message`.
template <class Pump>
void* open_pump(const char* waves, uint64_t first, uint64_t last, int* state, char* message) {
    Pump* made = nullptr;
    *state = guarded(
        [&] {
            made = new Pump(waves, first, last);
            return RUNNING;
        },
        [message](const char* what) { std::snprintf(message, MESSAGE_BYTES, "%s", what); });
    return made;
}

// Writes "clock N", with the clock since the start of the simulation if that is another.
struct ClockText {
    char text[64] = "";

    ClockText(uint64_t clock, uint64_t start) {
        const int written = std::snprintf(text, sizeof text, "clock %" PRIu64, clock);
        if (start) {
            std::snprintf(text + written, sizeof text - written, " (%" PRIu64 " since the start)",
                          start + clock);
        }
    }
};

}  // namespace
