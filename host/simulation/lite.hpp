// A master of the AXI4-Lite port: one write and one read at a time, as fast as the block takes them.
// If it is asked to, it lets answers wait.

#pragma once

#include <cstdint>
#include <deque>
#include <stdexcept>

#include "Vcore.h"
#include "streams.hpp"

namespace {

class LiteMaster {
  public:
    // Writes those bytes of a word whose bits are set in `strobes`.
    void write(uint32_t address, uint32_t word, uint32_t strobes) {
        write_ = {address, word, strobes};
        has_address_ = has_data_ = true;
    }

    void read(uint32_t address) {
        read_ = address;
        asks_ = awaits_ = true;
    }

    // From now on an answer waits in this percentage of the clocks.
    void rest(uint32_t rate, uint32_t seed) { rests_ = Stalls(rate, seed); }

    // Forgets what is under way, as a master that is reset with the block.
    void forget() {
        has_address_ = has_data_ = asks_ = awaits_ = false;
        written_.clear();
    }

    // Whether the last write has been taken, and the word of the last read is here. A write is
    // answered a clock later; `unanswered` counts the answers that are missing.
    bool done() const { return !has_address_ && !has_data_ && !awaits_; }
    size_t unanswered() const { return written_.size(); }

    // Decides what is on the port in the coming clock. Addresses and data without a valid are wrong.
    void offer(Vcore& core) {
        core.awvalid = has_address_;
        core.wvalid = has_data_;
        core.arvalid = asks_;
        core.awaddr = has_address_ ? write_.address : ~write_.address & ADDRESSES;
        core.wdata = has_data_ ? write_.word : ~write_.word;
        core.wstrb = (has_data_ ? write_.strobes : ~write_.strobes) & 0xF;
        core.araddr = asks_ ? read_ : ~read_ & ADDRESSES;
        core.bready = takes_written_ = !rests_();
        core.rready = takes_read_ = !rests_();
    }

    // Looks at the answers; returns whether a part of a write was taken. A read is no progress: who
    // only reads, over and over, waits for something that may never come.
    bool look(const Vcore& core) {
        const bool took_address = has_address_ && core.awready, took_data = has_data_ && core.wready;
        if (took_address) has_address_ = false;
        if (took_data) has_data_ = false;
        if ((took_address || took_data) && !has_address_ && !has_data_)
            written_.push_back(write_.address);
        if (core.bvalid && takes_written_) {
            if (written_.empty()) throw std::runtime_error("an answer without a write");
            if (core.bresp && refused_write == NONE) refused_write = written_.front();
            written_.pop_front();
        }
        if (asks_ && core.arready) asks_ = false;
        if (core.rvalid && takes_read_) {
            if (!awaits_ || asks_) throw std::runtime_error("an answer without a read");
            awaits_ = false;
            word = core.rdata;
            refused_read = core.rresp != 0;
        }
        return took_address || took_data;
    }

    static constexpr uint32_t NONE = ~uint32_t{0};
    uint32_t refused_write = NONE;  // the address of a write that was refused, until it is told
    uint32_t word = 0;              // the word that was read last
    bool refused_read = false;      // whether that read was refused

  private:
    static constexpr uint32_t ADDRESSES = (1u << ADDRESS_BITS) - 1;
    struct {
        uint32_t address, word, strobes;
    } write_{0, 0, 0};
    uint32_t read_ = 0;
    bool has_address_ = false, has_data_ = false, asks_ = false, awaits_ = false;
    Stalls rests_{0, 0};
    bool takes_written_ = true, takes_read_ = true;
    std::deque<uint32_t> written_;
};

}  // namespace
