"""The block as an IP-XACT component, in the forms of IEEE 1685-2009 and IEEE 1685-2014."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

from extremum.host.package.identity import LIBRARY, VENDOR, ip_version
from extremum.host.package.names import map_name
from extremum.host.package.ports import LITE, Port, interfaces
from extremum.host.package.registers import memory_map
from extremum.host.package.settings import Settings

__all__ = ["STANDARDS", "component"]


@dataclass(frozen=True)
class Standard:
    """How one edition of the standard writes what the other writes in another way."""

    edition: str
    prefix: str
    namespace: str

    @property
    def is_2014(self) -> bool:
        """Whether it is the newer one of the two."""
        return self.edition == "2014"

    def name(self, tag: str) -> str:
        """Return the name of an element or an attribute in the namespace."""
        return f"{{{self.namespace}}}{tag}"


STANDARDS = {
    standard.edition: standard
    for standard in (
        Standard("2009", "spirit", "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"),
        Standard("2014", "ipxact", "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"),
    )
}
"""The editions of IEEE 1685 that a package is described in, by year."""

Reference = tuple[str, str, str, str]
"""Vendor, library, name and version."""

CLOCK: Reference = ("xilinx.com", "signal", "clock", "1.0")
RESET: Reference = ("xilinx.com", "signal", "reset", "1.0")
INTERRUPT: Reference = ("xilinx.com", "signal", "interrupt", "1.0")
STREAM: Reference = ("xilinx.com", "interface", "axis", "1.0")
LITE_BUS: Reference = ("xilinx.com", "interface", "aximm", "1.0")


def component(settings: Settings, ports: Sequence[Port], edition: str) -> bytes:
    """Return the component of a block: its ports, bus interfaces, registers and files.

    The bus definitions are those of Vivado, which reads the edition of 2009.

    Parameters
    ----------
    settings
        What the package is written for.
    ports
        The ports of the block.
    edition
        A key of :data:`STANDARDS`.
    """
    return _Writer(settings, ports, STANDARDS[edition]).document()


class _Writer:
    """Writes one component."""

    def __init__(self, settings: Settings, ports: Sequence[Port], standard: Standard):
        self.settings, self.ports, self.standard = settings, ports, standard

    def document(self) -> bytes:
        standard, settings = self.standard, self.settings
        ET.register_namespace(standard.prefix, standard.namespace)
        root = ET.Element(standard.name("component"))
        for tag, text in (
            ("vendor", VENDOR), ("library", LIBRARY), ("name", settings.name),
            ("version", ip_version()),
        ):  # fmt: skip
            self._add(root, tag, text)
        if settings.bus == "axi":
            self._bus_interfaces(self._add(root, "busInterfaces"))
        if settings.has_registers:
            given = ET.fromstring(memory_map(settings, standard.edition))
            maps = given.find(standard.name("memoryMaps"))
            if maps is None:
                raise ValueError("the IP-XACT of the register map has no memoryMaps")
            root.append(maps)
        self._model(self._add(root, "model"))
        self._file_sets(self._add(root, "fileSets"))
        self._add(
            root, "description", f"Argmin, argmax and max pooling, {settings.form} {settings.hash}"
        )
        ET.indent(root)
        return ET.tostring(root, "UTF-8", xml_declaration=True) + b"\n"

    def _add(self, parent: ET.Element, tag: str, text: str | None = None) -> ET.Element:
        element = ET.SubElement(parent, self.standard.name(tag))
        element.text = text
        return element

    def _refer(self, parent: ET.Element, tag: str, reference: Reference) -> None:
        """Add a reference to a definition: attributes, with the namespace in 2009."""
        keys = ("vendor", "library", "name", "version")
        names = keys if self.standard.is_2014 else map(self.standard.name, keys)
        ET.SubElement(parent, self.standard.name(tag), dict(zip(names, reference, strict=True)))

    def _bus_interfaces(self, parent: ET.Element) -> None:
        streams = interfaces(self.ports)
        names = {port.name for port in self.ports}
        associated = {"ASSOCIATED_BUSIF": ":".join(streams), "ASSOCIATED_RESET": "aresetn"}
        self._bus(parent, "aclk", CLOCK, {"CLK": "aclk"}, parameters=associated)
        low = {"POLARITY": "ACTIVE_LOW"}
        self._bus(parent, "aresetn", RESET, {"RST": "aresetn"}, parameters=low)
        for name, members in streams.items():
            self._bus(
                parent, name, LITE_BUS if name == LITE else STREAM,
                {port.logical: port.name for port in members},
                is_master=name.startswith("m_"),
                parameters={"PROTOCOL": "AXI4LITE"} if name == LITE else {},
            )  # fmt: skip
        if "irq" in names:
            high = {"SENSITIVITY": "LEVEL_HIGH"}
            self._bus(
                parent, "irq", INTERRUPT, {"INTERRUPT": "irq"}, is_master=True, parameters=high
            )

    def _bus(
        self,
        parent: ET.Element,
        name: str,
        bus: Reference,
        ports: dict[str, str],
        *,
        parameters: dict[str, str],
        is_master: bool = False,
    ) -> None:
        """Add a bus interface; ``ports`` maps the standard's names to ours."""
        interface = self._add(parent, "busInterface")
        self._add(interface, "name", name)
        self._refer(interface, "busType", bus)
        vendor, library, kind, version = bus
        abstraction: Reference = (vendor, library, f"{kind}_rtl", version)
        if self.standard.is_2014:
            types = self._add(self._add(interface, "abstractionTypes"), "abstractionType")
            self._refer(types, "abstractionRef", abstraction)
            self._port_maps(types, ports)
            self._mode(interface, name, is_master=is_master)
        else:
            self._refer(interface, "abstractionType", abstraction)
            self._mode(interface, name, is_master=is_master)
            self._port_maps(interface, ports)
        if parameters:
            listed = self._add(interface, "parameters")
            for key, value in parameters.items():
                self._parameter(listed, key, value, f"{name}_{key}")

    def _mode(self, interface: ET.Element, name: str, *, is_master: bool) -> None:
        mode = self._add(interface, "master" if is_master else "slave")
        if name == LITE:
            key = "memoryMapRef" if self.standard.is_2014 else self.standard.name("memoryMapRef")
            self._add(mode, "memoryMapRef").set(key, f"{map_name(self.settings.name)}_mmap")

    def _port_maps(self, parent: ET.Element, ports: dict[str, str]) -> None:
        maps = self._add(parent, "portMaps")
        for logical, physical in ports.items():
            pair = self._add(maps, "portMap")
            self._add(self._add(pair, "logicalPort"), "name", logical)
            self._add(self._add(pair, "physicalPort"), "name", physical)

    def _parameter(self, parent: ET.Element, name: str, value: str, identity: str) -> None:
        parameter = self._add(parent, "parameter")
        if self.standard.is_2014:
            parameter.set("parameterId", identity)
        self._add(parameter, "name", name)
        self._add(parameter, "value", value)

    def _model(self, model: ET.Element) -> None:
        """Add the view for synthesis and simulation, and the ports."""
        view = self._add(self._add(model, "views"), "view")
        self._add(view, "name", "rtl")
        self._add(view, "envIdentifier", ":*Synthesis:" if self.standard.is_2014 else "verilog::")
        if self.standard.is_2014:
            self._add(view, "componentInstantiationRef", "rtl")
            made = self._add(self._add(model, "instantiations"), "componentInstantiation")
            self._add(made, "name", "rtl")
            self._add(made, "language", "verilog")
            self._add(made, "moduleName", self.settings.name)
            self._add(self._add(made, "fileSetRef"), "localName", "rtl")
        else:
            self._add(view, "language", "verilog")
            self._add(view, "modelName", self.settings.name)
            self._add(self._add(view, "fileSetRef"), "localName", "rtl")
        listed = self._add(model, "ports")
        for port in self.ports:
            self._port(listed, port)

    def _port(self, parent: ET.Element, port: Port) -> None:
        listed = self._add(parent, "port")
        self._add(listed, "name", port.name)
        wire = self._add(listed, "wire")
        self._add(wire, "direction", port.direction.removesuffix("put"))
        if port.width > 1:
            above = self._add(wire, "vectors") if self.standard.is_2014 else wire
            vector = self._add(above, "vector")
            self._add(vector, "left", str(port.width - 1))
            self._add(vector, "right", "0")

    def _file_sets(self, parent: ET.Element) -> None:
        files = self._add(parent, "fileSet")
        self._add(files, "name", "rtl")
        file = self._add(files, "file")
        self._add(file, "name", f"{self.settings.name}.v")
        self._add(file, "fileType", "verilogSource")
