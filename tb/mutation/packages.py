"""Which software is mutated, and which tests should find its mutants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """Files that are mutated, and the tests that should find the mutants."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PACKAGES = {
    "model": Package(
        ("model/pooling.py", "model/reduction.py", "model/spatial.py", "model/support.py",
         "model/functions.py", "model/fast"),
        ("tests/test_model_reduction.py", "tests/test_model_pooling.py",
         "tests/test_model_spatial.py", "tests/test_model_order.py", "tests/test_model_rows.py",
         "tests/test_model_sliding.py", "tests/test_model_slide_plan.py",
         "tests/test_model_tiles.py", "tests/test_model_errors.py", "tests/test_model_objects.py",
         "tests/test_model_support.py", "tests/test_model_memory.py",
         "tests/test_model_recording.py", "tests/test_model_maximum.py"),
    ),
    "plan": Package(
        ("host/plan",),
        ("tests/test_rows.py", "tests/test_registers.py", "tests/test_plan_jobs.py",
         "tests/test_plan.py", "tests/test_tiles.py", "tests/test_plan_huge.py",
         "tests/test_plan_results.py", "tests/test_plan_edges.py",
         "tests/test_plan_dataflow.py"),
    ),
    "driver": Package(
        ("host/driver",),
        ("tests/test_driver.py", "tests/test_driver_packets.py", "tests/test_driver_parts.py",
         "tests/test_driver_edges.py", "tests/test_driver_told.py", "tests/test_driver_waits.py",
         "tests/test_driver_dma.py", "tests/test_accelerator_axi.py", "tests/test_dataflow.py"),
    ),
    "c_driver": Package(
        ("drivers/c/extremum.c",),
        ("tests/test_c_driver.py", "tests/test_c_tiles.py", "tests/test_c_block.py",
         "tests/test_c_events.py", "tests/test_c_driver_on_block.py"),
    ),
    "regression": Package(
        ("tb/regression/on_core.py", "tb/regression/on_block.py",
         "tb/regression/on_faulty_block.py", "tb/regression/block_registers.py",
         "tb/regression/received.py", "tb/regression/run.py", "tb/regression/work.py",
         "tb/regression/lots.py", "tb/regression/database.py", "tb/regression/evidence.py",
         "tb/regression/observe.py", "tb/regression/ties.py", "tb/scoreboard.py"),
        ("tests/test_regression.py", "tests/test_regression_compares.py",
         "tests/test_regression_database.py", "tests/test_regression_finds.py",
         "tests/test_regression_figures.py", "tests/test_regression_runs.py",
         "tests/test_regression_parts.py",
         "tests/test_regression_bins.py", "tests/test_regression_observed.py",
         "tests/test_regression_ties.py", "tests/test_regression_resets.py",
         "tests/test_hdl_core.py", "tests/test_hdl_intake.py"),
    ),
    "package": Package(
        ("host/package",),
        ("tests/test_package.py", "tests/test_package_candidates.py",
         "tests/test_package_data.py", "tests/test_package_ipxact.py",
         "tests/test_package_parts.py", "tests/test_package_readme.py",
         "tests/test_package_registers.py", "tests/test_package_testbench.py",
         "tests/test_cli_verilog.py"),
    ),
    "cli": Package(
        ("host/cli",),
        ("tests/test_cli.py", "tests/test_cli_entry.py", "tests/test_cli_errors.py",
         "tests/test_cli_figures.py", "tests/test_cli_onnx.py", "tests/test_cli_onnx_files.py",
         "tests/test_cli_plan.py", "tests/test_cli_registers.py", "tests/test_cli_streams.py",
         "tests/test_cli_verilog.py", "tests/test_cli_verilog_cost.py",
         "tests/test_cli_verilog_files.py", "tests/test_demo.py", "tests/test_demo_picture.py",
         "tests/test_fpga.py", "tests/test_last_words.py"),
    ),
    "onnx": Package(
        ("host/onnx/agreement.py", "host/onnx/backend.py", "host/onnx/core.py",
         "host/onnx/differences.py", "host/onnx/execution.py", "host/onnx/external_data.py",
         "host/onnx/graphs.py", "host/onnx/inputs.py", "host/onnx/layers.py",
         "host/onnx/loading.py", "host/onnx/network.py", "host/onnx/outcome.py",
         "host/onnx/pooled_sizes.py", "host/onnx/quantised.py", "host/onnx/reference.py",
         "host/onnx/runtime.py", "host/onnx/segments.py", "host/onnx/values.py"),
        ("tests/test_onnx_backend.py", "tests/test_onnx_codes.py",
         "tests/test_onnx_constants.py", "tests/test_onnx_core.py", "tests/test_onnx_files.py",
         "tests/test_onnx_inputs.py", "tests/test_onnx_kinds.py", "tests/test_onnx_layers.py",
         "tests/test_onnx_loading.py", "tests/test_onnx_networks.py",
         "tests/test_onnx_outputs.py", "tests/test_onnx_pooled_sizes.py",
         "tests/test_onnx_quantised.py", "tests/test_onnx_reference.py",
         "tests/test_onnx_tricks.py", "tests/test_cli_onnx.py", "tests/test_cli_onnx_files.py"),
    ),
}  # fmt: skip
"""What is mutated, by name."""
