// The far end of an output stream of the AXI block.

#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "streams.hpp"

namespace {

// host/simulation/native_block.py repeats the layouts of Packet and Filled.

// The clocks in which a packet's first and last beats were taken, since the settings were made.
struct Packet {
    uint64_t first, last;
};

// What has come on an output stream since it was last drained.
struct Filled {
    uint64_t bytes = 0;
    uint32_t ended = 0;  // whether the last of these bytes ended a packet
};

// Takes packets off an output stream, and checks the rules of a stream.
class Sink {
  public:
    Sink(const char* name, size_t beat_bytes) : name_(name), waiting_(beat_bytes) {}

    void begin(Stalls stalls) {
        stalls_ = stalls;
        packets.clear();
    }

    void forget() {
        asked = 0;
        waits_ = inside_ = false;
    }

    void drain(uint8_t* buffer, uint64_t bytes) {
        buffer_ = buffer;
        room_ = bytes;
    }

    bool is_full() const { return asked && room_ < waiting_.size(); }
    bool rests() { return stalls_() || !asked; }

    // Looks at the stream in a clock in which it was `ready`; returns whether a beat left.
    bool look(bool valid, bool ready, const void* data, const void* keep, bool last,
              uint64_t clock, Filled& filled) {
        if (!valid) {
            if (waits_) fail("valid fell before the beat was taken");
            return false;
        }
        const uint8_t* bytes = static_cast<const uint8_t*>(data);
        const uint8_t* marks = static_cast<const uint8_t*>(keep);
        const size_t kept = count(marks);
        if (waits_ && (last != last_ || kept != kept_ ||
                       std::memcmp(bytes, waiting_.data(), waiting_.size()) != 0))
            fail("the beat changed before it was taken");
        waits_ = !ready;
        if (!ready) {
            std::memcpy(waiting_.data(), bytes, waiting_.size());
            last_ = last;
            kept_ = kept;
            return false;
        }
        std::memcpy(buffer_, bytes, kept);
        buffer_ += kept;
        room_ -= kept;
        filled.bytes += kept;
        if (!inside_) packets.push_back({clock, clock});
        packets.back().last = clock;
        inside_ = !last;
        if (last) {
            filled.ended = 1;
            --asked;
        }
        return true;
    }

    uint64_t asked = 0;  // packets that the sink shall take
    std::vector<Packet> packets;

  private:
    // Returns how many bytes of a beat are marked; they must be the first.
    size_t count(const uint8_t* marks) const {
        const auto marked = [marks](size_t byte) { return marks[byte / 8] >> byte % 8 & 1; };
        const size_t bytes = waiting_.size();
        if (marked(bytes - 1) && (bytes == 1 || all(marks, bytes))) return bytes;
        size_t kept = 0;
        while (kept < bytes && marked(kept)) ++kept;
        for (size_t byte = kept; byte < bytes; ++byte)
            if (marked(byte)) fail("TKEEP marks bytes behind one that it leaves out");
        return kept;
    }

    static bool all(const uint8_t* marks, size_t bytes) {
        for (size_t i = 0; i < bytes / 8; ++i)
            if (marks[i] != 0xFF) return false;
        return bytes % 8 == 0 || marks[bytes / 8] == (1 << bytes % 8) - 1;
    }

    [[noreturn]] void fail(const char* what) const {
        throw std::runtime_error(std::string(name_) + ": " + what);
    }

    const char* name_;
    std::vector<uint8_t> waiting_;
    bool waits_ = false, last_ = false, inside_ = false;
    size_t kept_ = 0;
    uint8_t* buffer_ = nullptr;
    uint64_t room_ = 0;
    Stalls stalls_{0, 0};
};

}  // namespace
