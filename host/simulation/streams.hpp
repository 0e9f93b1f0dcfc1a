// The far ends of the core's streams: stalls, sources of payloads, and buffers for results.
//
// The compiler's command line defines JOB_BITS, the width of the job port, and LANES and LANE_BITS,
// the form of a beat.

#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

constexpr size_t bytes_of(size_t bits) { return (bits + 7) / 8; }
constexpr size_t VALUE_BYTES = LANES * LANE_BITS / 8;
constexpr size_t INDEX_BYTES = LANES * 4;
constexpr size_t RESULT_BYTES = VALUE_BYTES + INDEX_BYTES + 1;

// For so many clocks the side of a stream rests at a rate, in percent; the last rate stays.
struct Phase {
    uint64_t clocks, rate;
};

// Phases that follow each other. host/simulation/native.py repeats these layouts.
struct Phases {
    const Phase* first = nullptr;
    uint64_t count = 0;
};

// Generates the same stalls as extremum.host.simulation.stalls.Stalls, by xorshift32.
class Stalls {
  public:
    Stalls(uint32_t rate, uint32_t seed) : rate_(rate), state_((2 * seed + 1) * 0x9E3779B9u) {}
    Stalls(Phases phases, uint32_t seed) : Stalls(0, seed) { phases_ = phases; }

    uint32_t word() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return state_;
    }

    bool operator()() {
        while (!left_ && phases_.count) {
            left_ = phases_.first->clocks;
            rate_ = uint32_t(phases_.first->rate);
            ++phases_.first;
            --phases_.count;
        }
        if (left_) --left_;
        return rate_ > 0 && ((word() >> 16) * 100 >> 16) < rate_;
    }

  private:
    uint32_t rate_, state_;
    uint64_t left_ = 0;  // clocks of the present phase
    Phases phases_;
};

// Copies the elements of a beat, and makes each as wide as To: it adds zeros or cuts high bits off.
using Copy = void (*)(uint8_t* to, const uint8_t* from);

template <class To, class From>
void copy(uint8_t* to, const uint8_t* from) {
    for (size_t lane = 0; lane < LANES; ++lane) {
        From element;
        std::memcpy(&element, from + lane * sizeof element, sizeof element);
        const To resized = static_cast<To>(element);
        std::memcpy(to + lane * sizeof resized, &resized, sizeof resized);
    }
}

using Lane = std::conditional_t<
    LANE_BITS <= 16, std::conditional_t<LANE_BITS == 8, uint8_t, uint16_t>,
    std::conditional_t<LANE_BITS == 32, uint32_t, uint64_t>>;

template <class Element>
constexpr Copy PACK = copy<Lane, Element>;
template <class Element>
constexpr Copy UNPACK = copy<Element, Lane>;

Copy packer(uint32_t bytes) {
    return bytes == 1   ? PACK<uint8_t>
           : bytes == 2 ? PACK<uint16_t>
           : bytes == 4 ? PACK<uint32_t>
                        : PACK<uint64_t>;
}

Copy unpacker(uint32_t bytes) {
    return bytes == 1   ? UNPACK<uint8_t>
           : bytes == 2 ? UNPACK<uint16_t>
           : bytes == 4 ? UNPACK<uint32_t>
                        : UNPACK<uint64_t>;
}

// Offers payloads to a stream. In stalls the payload on the port is random.
template <size_t BITS>
class Source {
  public:
    Source() = default;
    Source(uint64_t count, Stalls stalls) : left(count), stalls_(stalls) {}

    // Gives the source more items, each of `bytes` bytes.
    void refill(const uint8_t* items, uint64_t count, size_t bytes) {
        next_ = items;
        here_ = count;
        bytes_ = bytes;
    }

    // Tells whether the source must be refilled before it can offer more.
    bool dry() const { return here_ == 0 && left > 0; }

    // Decides what is on the port in the coming clock.
    template <class Valid, class Payload, class Write>
    void offer(Valid& valid, Payload& payload, Write write) {
        if (offered_) return;
        if (left == 0 || stalls_()) {
            rest(valid, payload);
            return;
        }
        write(reinterpret_cast<uint8_t*>(&payload), next_);
        valid = 1;
        offered_ = true;
        garbage_ = false;
    }

    // Returns whether the core takes the offered item at the end of this clock.
    bool moves(bool ready) {
        if (!offered_ || !ready) return false;
        offered_ = false;
        next_ += bytes_;
        --here_;
        --left;
        return true;
    }

    template <class Valid, class Payload>
    void rest(Valid& valid, Payload& payload) {
        if (garbage_) return;
        garbage_ = true;
        valid = 0;
        const uint32_t word = stalls_.word() | 1;
        uint8_t* bytes = reinterpret_cast<uint8_t*>(&payload);
        for (size_t i = 0; i < bytes_of(BITS); ++i) bytes[i] = uint8_t(word >> 8 * (i % 4));
        if (BITS % 8) bytes[BITS / 8] &= uint8_t((1 << BITS % 8) - 1);
    }

    uint64_t left = 0;

  private:
    const uint8_t* next_ = nullptr;
    uint64_t here_ = 0;
    size_t bytes_ = 0;
    Stalls stalls_{0, 0};
    bool offered_ = false, garbage_ = false;
};

// Memory for the next results: `beats` beats of values and of positions.
struct ResultBuffer {
    uint8_t* values = nullptr;
    uint8_t* indices = nullptr;
    uint64_t beats = 0;
    uint32_t bytes = 0;
    Copy unpack = nullptr;

    void put(const uint8_t* result) {
        unpack(values, result);
        std::memcpy(indices, result + VALUE_BYTES, INDEX_BYTES);
        values += LANES * bytes;
        indices += INDEX_BYTES;
        --beats;
    }
};

}  // namespace
