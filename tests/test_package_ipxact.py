"""The IP-XACT of a package: each port once, the right bus, in both editions of the standard."""

import pytest
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from packages import settings_of

from extremum.host.package.ipxact import STANDARDS, component
from extremum.host.package.ports import ports_of
from extremum.host.package.verilog import block_verilog

BUSES = {
    "aclk": ("signal", "clock"),
    "aresetn": ("signal", "reset"),
    "s_axis": ("interface", "axis"),
    "m_axis_value": ("interface", "axis"),
    "m_axis_index": ("interface", "axis"),
    "s_axil": ("interface", "aximm"),
    "irq": ("signal", "interrupt"),
}
"""Library and name of the bus of each interface, as Vivado defines them."""

NAMES = ("pool2x2_int8", "argmax_1000_int8", "pool2x2_28x28_int8")
"""A block with registers, and two that have streams alone, of which one gives positions."""


@pytest.fixture(scope="module", params=NAMES)
def block(request):
    """The settings of a block, and its ports."""
    settings = settings_of(request.param)
    return settings, ports_of(block_verilog(settings), settings.name)


def parsed(settings, ports, edition):
    """Return a component, and a function that finds in it what a path of plain names says."""
    root = etree.fromstring(component(settings, ports, edition))
    names = {"x": STANDARDS[edition].namespace}

    def find(path, start=root):
        steps = "/".join(f"x:{step}" if step.isidentifier() else step for step in path.split("/"))
        return start.xpath(steps, namespaces=names)

    return root, find


def attributes(element):
    """Return the attributes of an element by their names without a namespace."""
    return {etree.QName(key).localname: value for key, value in element.attrib.items()}


@pytest.mark.parametrize("edition", STANDARDS)
def test_each_interface_has_its_bus(block, edition):
    settings, ports = block
    _, find = parsed(settings, ports, edition)
    found = {}
    for interface in find("busInterfaces/busInterface"):
        (name,) = find("name/text()", interface)
        (bus,) = map(attributes, find("busType", interface))
        (rtl,) = map(attributes, find(
            "abstractionTypes/abstractionType/abstractionRef" if edition == "2014"
            else "abstractionType", interface,
        ))  # fmt: skip
        assert rtl == bus | {"name": f"{bus['name']}_rtl"}
        assert (bus["vendor"], bus["version"]) == ("xilinx.com", "1.0")
        found[name] = (bus["library"], bus["name"])
        is_master = name.startswith("m_") or name == "irq"
        assert len(find("master", interface)) == is_master
        assert len(find("slave", interface)) == (not is_master)
        maps = find("slave/memoryMapRef", interface)
        assert len(maps) == (name == "s_axil")
        told = dict(zip(find(".//parameter/name/text()", interface),
                        find(".//parameter/value/text()", interface), strict=True))  # fmt: skip
        assert told.get("PROTOCOL") == ("AXI4LITE" if name == "s_axil" else None)
        assert told.get("SENSITIVITY") == ("LEVEL_HIGH" if name == "irq" else None)
    identities = find(".//parameter/@parameterId")
    assert len(set(identities)) == len(identities)
    assert len(identities) == (edition == "2014") * len(find(".//parameter"))
    present = {port.interface for port in ports}
    assert found == {name: bus for name, bus in BUSES.items() if name in present}


@pytest.mark.parametrize("edition", STANDARDS)
def test_each_port_is_in_one_interface_under_its_name(block, edition):
    settings, ports = block
    _, find = parsed(settings, ports, edition)
    pairs = {
        find("physicalPort/name/text()", pair)[0]: find("logicalPort/name/text()", pair)[0]
        for pair in find("busInterfaces//portMap")
    }
    assert len(find("busInterfaces//portMap")) == len(ports)
    alone = {"aclk": "CLK", "aresetn": "RST", "irq": "INTERRUPT"}
    assert pairs == {port.name: alone.get(port.name, port.logical) for port in ports}
    assert {pairs[name] for name in pairs if name.endswith("_tdata")} == {"TDATA"}


@pytest.mark.parametrize("edition", STANDARDS)
def test_ports_have_their_direction_and_width(block, edition):
    settings, ports = block
    _, find = parsed(settings, ports, edition)
    found = []
    for port in find("model/ports/port"):
        (name,), (way,) = find("name/text()", port), find("wire/direction/text()", port)
        left, right = find(".//left/text()", port), find(".//right/text()", port)
        assert right == ["0"] * len(left)
        assert len(find("wire/vectors", port)) == (edition == "2014") * len(left)
        found.append((name, f"{way}put", left))
    assert found == [
        (port.name, port.direction, [str(port.width - 1)] if port.width > 1 else [])
        for port in ports
    ]


@pytest.mark.parametrize(
    ("edition", "for_tools"), [("2009", "verilog::"), ("2014", ":*Synthesis:")]
)
def test_the_view_is_the_module_in_its_file(block, edition, for_tools):
    settings, ports = block
    root, find = parsed(settings, ports, edition)
    assert find("model/views/view/envIdentifier/text()") == [for_tools]
    below = "instantiations/componentInstantiation" if edition == "2014" else "views/view"
    module = "moduleName" if edition == "2014" else "modelName"
    assert find(f"model/{below}/{module}/text()") == [settings.name]
    assert find(f"model/{below}/language/text()") == ["verilog"]
    (files,) = find("fileSets/fileSet")
    assert find(f"model/{below}/fileSetRef/localName/text()") == find("name/text()", files)
    assert find("file/name/text()", files) == [f"{settings.name}.v"]
    assert etree.QName(root).localname == "component"
    assert settings.hash in find("description/text()")[0]


@pytest.mark.parametrize("edition", STANDARDS)
def test_a_bare_core_has_ports_alone(edition):
    settings = settings_of("pool2x2_int8", bus="none")
    ports = ports_of(block_verilog(settings), settings.name)
    _, find = parsed(settings, ports, edition)
    assert len(find("model/ports/port")) == len(ports)
    assert not find("busInterfaces") + find("memoryMaps")
